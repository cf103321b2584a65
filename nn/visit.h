// The definition of a module, and the traversal of its parts, which all other functions use.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/ops/weight.h"
#include "tensor/tensor.h"

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
  explicit Buffer(const Tensor& exact, DType dtype = kFloat32) : exact_(exact.detach()) {
    convert(dtype);
  }

  /// The constant in the module's dtype; undefined if none was given.
  const Tensor& value() const { return value_; }
  /// The constant as it was given.
  const Tensor& exact() const { return exact_; }

  /// Rounds the original constant to `dtype`.
  void convert(DType dtype) {
    const bool follows = exact_.defined() && is_floating(exact_.dtype());
    value_ = follows ? exact_.to(dtype) : exact_;
  }

 private:
  Tensor exact_;
  Tensor value_;
};

namespace detail {

/// Accepts every kind of member.
struct AnyVisitor {
  template <class Part>
  void operator()(std::string_view, Part&&) const {}
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

/// For visitors that skip prepacked weights.
inline constexpr auto kSkipPrepacked = [](const std::string&, const Weight&) {};

inline std::string join_names(const std::string& name, std::string_view part) {
  return name.empty() ? std::string(part) : name + "." + std::string(part);
}

/// True, or a one-line error at the call of a function that changes its module.
template <class M>
consteval bool may_change() {
  static_assert(!std::is_const_v<M>, "this function changes the module, which is const here");
  return !std::is_const_v<M>;
}

}  // namespace detail

/// A struct that names its parts in a static `visit`, for const modules too: see nn/module.h.
template <class M>
concept Module = requires(std::remove_cv_t<M>& module, const detail::AnyVisitor& visitor) {
  std::remove_cv_t<M>::visit(module, visitor);
  std::remove_cv_t<M>::visit(std::as_const(module), visitor);
};

/// Calls `f(name, part)` for each module, Tensor, Weight and Buffer in the member, which may be one
/// of these itself, in the order in which `visit` names them. A module comes before its parts.
template <class Member, class F>
void walk(Member& member, const std::string& name, const F& f) {
  using Plain = std::remove_const_t<Member>;
  if constexpr (std::same_as<Plain, Tensor> || std::same_as<Plain, Weight> ||
                std::same_as<Plain, Buffer>) {
    f(name, member);
  } else if constexpr (detail::is_optional<Plain>) {
    if (member) walk(*member, name, f);
  } else if constexpr (detail::is_vector<Plain>) {
    for (std::size_t i = 0; i < member.size(); ++i) {
      walk(member[i], detail::join_names(name, std::to_string(i)), f);
    }
  } else if constexpr (Module<Plain>) {
    f(name, member);
    Plain::visit(member, [&](std::string_view part, auto&& inner) {
      walk(inner, detail::join_names(name, part), f);
    });
  } else if constexpr (std::is_arithmetic_v<Plain> || std::is_enum_v<Plain>) {
    static_assert(detail::never<Plain>,
                  "visit names a number; it names tensors, buffers and modules, nothing else");
  } else if constexpr (detail::is_pointer<Plain>) {
    static_assert(detail::never<Plain>,
                  "visit names a pointer; hold the part by value, or in an optional or a vector");
  } else {
    static_assert(detail::never<Plain>,
                  "no module: it lacks `static void visit(auto& self, auto&& visitor)`, which "
                  "names its parts "
                  "(nn/module.h)");
  }
}

/// Calls `f(name, tensor)` for each defined parameter, and `prepacked(name, weight)` for each
/// weight without elements.
template <class M, class F, class Prepacked>
void for_each_parameter(M& module, const F& f, const Prepacked& prepacked) {
  walk(module, "", [&](const std::string& name, auto& part) {
    using Part = std::remove_cvref_t<decltype(part)>;
    if constexpr (std::same_as<Part, Tensor>) {
      if (part.defined()) f(name, part);
    } else if constexpr (std::same_as<Part, Weight>) {
      if (part.is_prepacked()) {
        prepacked(name, part);
      } else if (part.defined()) {
        f(name, *part);
      }
    }
  });
}

/// Calls `f(name, tensor)` for each defined parameter. **Errors**: a prepacked weight.
template <class M, class F>
void for_each_parameter(M& module, const F& f) {
  for_each_parameter(module, f, [](const std::string& name, const Weight& weight) {
    fail(name.c_str(), "elements must be readable, got a prepacked weight of shape ",
         weight.shape(), "; call nn::unpack(model) first");
  });
}

/// Calls `f(name, buffer)` for each Buffer.
template <class M, class F>
void for_each_buffer(M& module, const F& f) {
  walk(module, "", [&](const std::string& name, auto& part) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(part)>, Buffer>) f(name, part);
  });
}

}  // namespace tessera::nn
