#include "tensor/io/json.h"

#include <string>
#include <utility>

#include "tensor/detail/parse_number.h"
#include "tensor/io/detail/json_document.h"
#include "tensor/io/file.h"

namespace tessera {

namespace {

/// Whether a number is written as an integer, except -0, because its sign would be lost.
bool is_integer(std::string_view written) {
  return written.find_first_of(".eE") == std::string_view::npos && written != "-0";
}

double number_of(std::string_view written) {
  double value = 0;  // not changed if a number underflows
  parse_number(written, value);
  return value;
}

/// nullopt for an integer that does not fit.
std::optional<index_t> integer_of(std::string_view written) {
  index_t value = 0;
  return parse_number(written, value) ? std::optional(value) : std::nullopt;
}

}  // namespace

const Json::Node& Json::node() const {
  return document_->nodes[node_];
}

/// A number as the file has it.
std::string_view Json::written() const {
  return std::string_view(document_->bytes).substr(node().begin, node().size);
}

Json::Kind Json::kind() const {
  switch (document_->first(node_)) {
    case 'n':
      return Kind::kNull;
    case 't':
    case 'f':
      return Kind::kBoolean;
    case '"':
      return Kind::kText;
    case '[':
      return Kind::kList;
    case '{':
      return Kind::kObject;
    default:
      return is_integer(written()) && integer_of(written()) ? Kind::kInteger : Kind::kNumber;
  }
}

void Json::want(Kind kind, const char* what) const {
  if (this->kind() != kind) fail("must be ", what, ", got ", described());
}

bool Json::boolean() const {
  want(Kind::kBoolean, "true or false");
  return document_->first(node_) == 't';
}

index_t Json::integer(JsonRange range) const {
  if (kind() == Kind::kInteger) {
    const index_t value = *integer_of(written());
    if (value >= range.low && value <= range.high) return value;
  }
  const JsonRange all;
  if (range.low == all.low && range.high == all.high) fail("must be an integer, got ", described());
  if (range.high == all.high) {
    fail("must be an integer of at least ", range.low, ", got ", described());
  }
  fail("must be an integer from ", range.low, " to ", range.high, ", got ", described());
}

double Json::number() const {
  if (kind() == Kind::kInteger) return static_cast<double>(*integer_of(written()));
  want(Kind::kNumber, "a number");
  return number_of(written());
}

std::string_view Json::text() const {
  want(Kind::kText, "a text");
  return document_->text(node_);
}

Json Json::as_list() const {
  want(Kind::kList, "a list");
  return *this;
}

Json Json::as_object() const {
  want(Kind::kObject, "an object");
  return *this;
}

std::optional<Json> Json::find(std::string_view key) const {
  want(Kind::kObject, "an object");
  for (std::uint32_t at = node_ + 1; at < node().size; at = document_->after(at + 1)) {
    if (document_->text(at) != key) continue;
    const Json found(document_, at + 1);
    if (found.is_null()) return std::nullopt;
    return found;
  }
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  std::optional<Json> found = find(key);
  if (!found) fail("must have a value for ", printable(key));
  return *found;
}

bool Json::boolean(std::string_view key, std::optional<bool> otherwise) const {
  const std::optional<Json> found = otherwise ? find(key) : at(key);
  return found ? found->boolean() : *otherwise;
}

index_t Json::integer(std::string_view key, JsonRange range,
                      std::optional<index_t> otherwise) const {
  const std::optional<Json> found = otherwise ? find(key) : at(key);
  return found ? found->integer(range) : *otherwise;
}

double Json::number(std::string_view key, std::optional<double> otherwise) const {
  const std::optional<Json> found = otherwise ? find(key) : at(key);
  return found ? found->number() : *otherwise;
}

std::string Json::text(std::string_view key, std::optional<std::string> otherwise) const {
  const std::optional<Json> found = otherwise ? find(key) : at(key);
  return found ? std::string(found->text()) : std::move(*otherwise);
}

index_t Json::size() const {
  if (!is_object()) want(Kind::kList, "a list or an object");
  const std::uint32_t key = is_object() ? 1 : 0;
  index_t count = 0;
  for (std::uint32_t at = node_ + 1; at < node().size; at = document_->after(at + key)) ++count;
  return count;
}

Json::Items Json::items() const {
  if (!is_object()) want(Kind::kList, "a list or an object");
  return Items(*this);
}

Json Json::item(index_t i) const {
  want(Kind::kList, "a list");
  index_t left = i;
  for (const Json& value : items()) {
    if (left-- == 0) return value;
  }
  fail("must have more than ", i, " values, got ", size());
}

Json::Items::Iterator::Iterator(const Json& of, std::uint32_t next)
    : at_(of), next_(next), keys_(of.is_object() ? 1 : 0) {
  at_.node_ = next_ + keys_;
}

Json::Items::Iterator Json::Items::begin() const {
  return {of_, of_.node_ + 1};
}

Json::Items::Iterator Json::Items::end() const {
  return {of_, of_.node().size};
}

Json::Items::Iterator& Json::Items::Iterator::operator++() {
  next_ = at_.document_->after(at_.node_);
  at_.node_ = next_ + keys_;
  return *this;
}

std::string_view Json::key() const {
  return node().keyed != 0 ? document_->text(node_ - 1) : std::string_view();
}

/// The path to a value from the top. Nodes do not store it, because only errors need it.
std::string Json::path() const {
  std::string path;
  for (Json around(document_, 0); around.node_ != node_;) {
    index_t place = 0;
    for (const Json& value : around.items()) {
      if (value.node_ != node_ && document_->after(value.node_) <= node_) {
        ++place;
        continue;
      }
      if (value.node().keyed != 0) {
        path += (path.empty() ? "" : ".") + std::string(value.key().substr(0, 100));
      } else {
        path += str_cat('[', place, ']');
      }
      around = value;
      break;
    }
  }
  return path;
}

std::string Json::place() const {
  const std::string within = path();
  if (within.empty()) return document_->file;
  return document_->file + ": " + escaped(within, 80);
}

std::string Json::described() const {
  switch (kind()) {
    case Kind::kText:
      return "the text " + printable(text());
    case Kind::kList:
      return "a list";
    case Kind::kObject:
      return "an object";
    default:
      return JsonText(*this).text();
  }
}

Json read_json(const std::filesystem::path& path, const JsonLimits& limits) {
  const InputFile file(path);
  refuse_incomplete_download(file);
  if (file.size() > limits.bytes) {
    fail_file(file.name(), "must have at most ", limits.bytes, " bytes, got ", file.size());
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());
  return parse_json(std::move(text), file.name(), limits);
}

std::optional<Json> find_json(const std::filesystem::path& path, const JsonLimits& limits) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return read_json(path, limits);
}

}  // namespace tessera
