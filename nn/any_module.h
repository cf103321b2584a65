// Holds a module of any type that has a given call signature.
//
//   nn::AnyModule<Tensor(const Tensor&)> part = nn::Linear(4, 8);
//   part = nn::Norm({.width = 8});
//   const Tensor y = part(x);
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "tessera/nn/visit.h"

namespace tessera::nn {

namespace detail {
/// A type other than Self whose const operator() takes `Args`.
template <class M, class Self, class... Args>
concept CallableWith = !std::same_as<M, Self> && std::invocable<const M&, Args...>;
}  // namespace detail

template <class Signature>
class AnyModule;

/// Holds any module whose const operator() takes `Args` and returns R. Its parameters have the same
/// names as in the held module. A copy holds a copy of the module, and the two share parameters.
///
/// A function, or a lambda without captures, is a module without parts.
/// **Source**: std::function, for modules.
template <class R, class... Args>
class AnyModule<R(Args...)> {
 public:
  template <detail::CallableWith<AnyModule, Args...> M>
  AnyModule(M module) : held_(std::make_unique<HolderOf<M>>(std::move(module))) {
    static_assert(Module<M> || std::is_empty_v<M> || std::is_pointer_v<M>,
                  "a part with data must be a module, which names its parts in a static visit");
  }
  AnyModule(const AnyModule& other) : held_(other.held_->copy()) {}
  AnyModule& operator=(AnyModule other) noexcept {
    held_.swap(other.held_);
    return *this;
  }
  ~AnyModule() = default;

  R operator()(Args... args) const { return held_->call(std::forward<Args>(args)...); }

  /// The module, if it is an M; otherwise null.
  template <class M>
  M* get() {
    HolderOf<M>* const held = dynamic_cast<HolderOf<M>*>(held_.get());
    return held != nullptr ? &held->module : nullptr;
  }
  template <class M>
  const M* get() const {
    return const_cast<AnyModule&>(*this).template get<M>();
  }

  static void visit(auto& self, auto&& visitor) { self.held_->list(visitor); }

 private:
  struct Holder {
    virtual ~Holder() = default;
    virtual std::unique_ptr<Holder> copy() const = 0;
    virtual R call(Args... args) const = 0;
    virtual void list(const detail::PartLister& lister) = 0;
  };

  template <class M>
  struct HolderOf final : Holder {
    explicit HolderOf(M other) : module(std::move(other)) {}
    std::unique_ptr<Holder> copy() const override { return std::make_unique<HolderOf>(module); }
    R call(Args... args) const override {
      if constexpr (std::is_convertible_v<std::invoke_result_t<const M&, Args...>, R>) {
        return module(std::forward<Args>(args)...);
      } else {  // for example, a Tensor becomes an AttentionResult
        static_assert(std::is_aggregate_v<R>, "the module returns a different type");
        return {module(std::forward<Args>(args)...)};
      }
    }
    void list(const detail::PartLister& lister) override {
      if constexpr (Module<M>) lister.add(module);
    }

    M module;
  };

  std::unique_ptr<Holder> held_;
};

}  // namespace tessera::nn
