#include "tessera/tensor/module_path.h"

namespace tessera {

std::string ModulePath::current(std::string_view name) {
  std::string path(name);
  for (const ModulePath* part = detail::thread_context.path; part != nullptr; part = part->outer_) {
    std::string front = part->part_;
    if (part->number_ >= 0) front += '.' + std::to_string(part->number_);
    path = path.empty() ? front : front + '.' + path;
  }
  return path;
}

}  // namespace tessera
