// The definition of a module, and the traversal of its parts, which all other functions use.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/tensor/ops/weight.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// A constant that a module names in `visit`, such as a table of positions. A Buffer is not a
/// parameter, has no gradient and is not saved in files. `value` is the constant in the module's
/// dtype, which is float32 at first and which `convert` changes.
///
/// Each conversion rounds the constant as it was given, so that conversion to a different dtype and
/// back loses nothing. A constant that is not floating keeps its dtype. Copies share the elements.
/// **Source**: torch.nn.Module.register_buffer(persistent=False).
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(const Tensor& exact, DType dtype = kFloat32);

  /// The constant in the module's dtype; undefined if none was given.
  const Tensor& value() const { return value_; }
  /// The constant as it was given.
  const Tensor& exact() const { return exact_; }

  /// Rounds the original constant to `dtype`.
  void convert(DType dtype);

 private:
  Tensor exact_;
  Tensor value_;
};

namespace detail {

/// Accepts every kind of member.
struct AnyVisitor {
  template <class Member>
  void operator()(std::string_view, Member&&) const {}
};

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_pointer = std::is_pointer_v<T> || requires(const T& p) {
  *p, p.get();
};
template <class>
inline constexpr bool never = false;

/// True, or a one-line error at the call of a function that changes its module.
template <class M>
consteval bool may_change() {
  static_assert(!std::is_const_v<M>, "this function changes the module, which is const here");
  return !std::is_const_v<M>;
}

/// `part` within `module`, `layers.0`; the module's own name may be empty.
std::string join_names(std::string_view module, std::string_view part);

}  // namespace detail

/// A struct that names its parts in a static `visit`, for const modules too: see nn/module.h.
template <class M>
concept Module = requires(std::remove_cv_t<M>& module, detail::AnyVisitor& visitor) {
  std::remove_cv_t<M>::visit(module, visitor);
  std::remove_cv_t<M>::visit(std::as_const(module), visitor);
};

namespace detail {

/// Throws: a prepacked weight has no elements.
[[noreturn]] void refuse_prepacked(const std::string& name, const Weight& weight);
/// The rule for the names of parameters.
inline constexpr const char* kUniqueNameRule = "visit must give each parameter its own name, got ";
/// Skips prepacked weights.
inline constexpr auto kSkipPrepacked = [](const std::string&, const Weight&) {};

/// The parts of a module and of the modules in it, in the order of `visit`, each by its address.
struct Parts {
  /// A Tensor or a Weight; the other pointer is null.
  struct Slot {
    std::string name;
    Tensor* tensor;
    Weight* weight;
  };
  /// A module's mode, and whether the module computes differently in this mode.
  struct Mode {
    bool* training;
    bool active;
  };

  std::vector<Slot> parameters;  // the defined ones
  std::vector<Buffer*> buffers;
  std::vector<Mode> modes;

  /// Calls `f(name, tensor)` for each parameter, or `prepacked(name, weight)` if it has no elements.
  template <class F, class Prepacked>
  void for_each(const F& f, const Prepacked& prepacked) const {
    for (const auto& [name, tensor, weight] : parameters) {
      if (weight != nullptr && weight->is_prepacked()) {
        prepacked(name, std::as_const(*weight));
      } else {
        f(name, tensor != nullptr ? *tensor : **weight);
      }
    }
  }
};

/// The visitor that lists the parts of the module `name`. Const modules are visited as others are,
/// so that a module has one instantiation; functions that change parts call may_change() first.
class PartLister {
 public:
  PartLister(Parts& parts, std::string name) : parts_(parts), name_(std::move(name)) {}

  /// Lists the parts of a member.
  template <class Member>
  void operator()(std::string_view name, Member&& member) const {
    static_assert(std::is_lvalue_reference_v<Member>,
                  "visit must name members, not temporary values");
    PartLister(parts_, join_names(name_, name)).add(member);
  }

  void add(Tensor& tensor) const;
  void add(Weight& weight) const;
  void add(Buffer& buffer) const;

  template <class Member>
  void add(Member& member) const;

 private:
  template <class M>
  void add_mode(M& module) const {
    if constexpr (requires { module.training = true; }) {
      static_assert(std::same_as<decltype(module.training), bool>, "training must be a bool");
      bool active = module.training;
      if constexpr (requires {
                      { std::as_const(module).active() } -> std::same_as<bool>;
                    }) {
        active = std::as_const(module).active();
      }
      parts_.modes.push_back({&module.training, active});
    }
  }

  Parts& parts_;
  std::string name_;
};

// Not inline: ready-made models are instantiated in the library, so that users do not compile this
// function for them.
template <class Member>
void PartLister::add(Member& member) const {
  if constexpr (std::is_const_v<Member>) {
    static_assert(never<Member>, "visit names a const part, which nothing could load or train");
  } else if constexpr (is_optional<Member>) {
    if (member) add(*member);
  } else if constexpr (is_vector<Member>) {
    for (std::size_t i = 0; i < member.size(); ++i) (*this)(std::to_string(i), member[i]);
  } else if constexpr (Module<Member>) {
    add_mode(member);
    Member::visit(member, *this);
  } else if constexpr (std::is_arithmetic_v<Member> || std::is_enum_v<Member>) {
    static_assert(never<Member>,
                  "visit names a number; it names tensors, buffers and modules, nothing else");
  } else if constexpr (is_pointer<Member>) {
    static_assert(never<Member>,
                  "visit names a pointer; hold the part by value, or in an optional or a vector");
  } else {
    static_assert(never<Member>,
                  "no module: it lacks `static void visit(auto& self, auto&& visitor)`, which "
                  "names its parts (nn/module.h)");
  }
}

template <class M>
Parts list_parts(const M& module) {
  Parts parts;
  PartLister(parts, "").add(const_cast<M&>(module));
  return parts;
}

/// Marks the parameters as named, so that ops accept them under a tape (storage.h).
void mark_named(const Parts& parts);

/// The parts of a module on which a user calls a function.
template <class M>
Parts parts_of(const M& module) {
  Parts parts = list_parts(module);
  mark_named(parts);
  return parts;
}

}  // namespace detail

/// Calls `f(name, tensor)` for each defined parameter, and `prepacked(name, weight)` for each
/// weight without elements, in the order in which `visit` names them.
template <class M, class F, class Prepacked>
void for_each_parameter(M& module, const F& f, const Prepacked& prepacked) {
  using Parameter = std::conditional_t<std::is_const_v<M>, const Tensor, Tensor>;
  detail::parts_of(module).for_each(
      [&](const std::string& name, Tensor& parameter) {
        f(name, static_cast<Parameter&>(parameter));
      },
      prepacked);
}

/// Calls `f(name, tensor)` for each defined parameter. **Errors**: a prepacked weight.
template <class M, class F>
void for_each_parameter(M& module, const F& f) {
  for_each_parameter(module, f, detail::refuse_prepacked);
}

}  // namespace tessera::nn
