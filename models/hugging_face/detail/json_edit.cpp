#include "tessera/models/hugging_face/detail/json_edit.h"

#include <algorithm>

namespace tessera::models {

std::string file_of(const JsonMembers& values) {
  return JsonObject(kJsonLines).add(values).text() + '\n';
}

std::string edited(const Json& object, const JsonMembers& changes) {
  JsonMembers values;
  for (const Json& value : object.items()) values.emplace_back(value.key(), value);
  for (const auto& change : changes) {
    const auto old = std::ranges::find(values, change.first, &JsonMembers::value_type::first);
    if (old == values.end()) {
      values.push_back(change);
    } else {
      old->second = change.second;
    }
  }
  return file_of(values);
}

}  // namespace tessera::models
