#include "passes/import/SdyText.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tandem {
namespace {

std::string printed(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return text;
}

Status unreadable(StringRef text, StringRef expected) {
  return Status::refused("cannot read '" + text.str() + "', expected " +
                         expected.str());
}

/// Parses our own notation; what is wrong with it is the refusal's text.
template <typename AttrTy>
Result<AttrTy> parseOurs(const std::string &text, MLIRContext *context) {
  std::string why;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    why = diagnostic.str();
    return success();
  });
  if (auto attr = dyn_cast_or_null<AttrTy>(parseAttribute(text, context)))
    return attr;
  return Status::refused("cannot read '" + text + "': " + why);
}

/// Takes the bracket at the front of `text` with all up to its match, quoted
/// brackets aside; nothing where there is none.
StringRef takeBracketed(StringRef &text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char letter = text[i];
    quoted ^= letter == '"';
    if (!quoted && StringRef("<[{").contains(letter))
      ++depth;
    if (!quoted && StringRef(">]}").contains(letter))
      --depth;
    if (depth > 0)
      continue;
    StringRef taken = text.take_front(i ? i + 1 : 0);
    text = text.drop_front(taken.size()).ltrim();
    return taken;
  }
  return {};
}

/// What stands in the brackets of `#sdy.<name><...>`; nothing where `attr` is
/// another attribute.
std::optional<StringRef> bodyOf(Attribute attr, StringRef name) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attr);
  if (!opaque || opaque.getDialectNamespace() != "sdy")
    return std::nullopt;
  StringRef text = opaque.getAttrData();
  if (!text.consume_front(name) || takeBracketed(text).empty() || !text.empty())
    return std::nullopt;
  return opaque.getAttrData().drop_front(name.size() + 1).drop_back();
}

/// `["x"=2, "y"=2]`, perhaps with `, device_ids=[1, 0, ...]`.
Result<SdyMesh> readMeshBody(StringRef text, MLIRContext *context) {
  StringRef all = text;
  SdyMesh mesh;
  std::string axes = takeBracketed(text).str();
  TANDEM_ASSIGN(mesh.axes,
                parseOurs<MeshAttr>("#tandem.mesh<" + axes + ">", context));
  if (text.empty())
    return mesh;
  if (!text.consume_front(",") ||
      !(text = text.ltrim()).consume_front("device_ids="))
    return unreadable(all, "axes, then device_ids=[...]");
  auto ids = dyn_cast_or_null<ArrayAttr>(parseAttribute(text, context));
  if (!ids)
    return unreadable(all, "axes, then device_ids=[...]");
  for (Attribute id : ids) {
    auto number = dyn_cast<IntegerAttr>(id);
    if (!number)
      return unreadable(all, "numbers as device_ids");
    mesh.devices.push_back(number.getInt());
  }
  int64_t count = static_cast<int64_t>(mesh.devices.size());
  if (!mesh.axes.getAxes().empty() &&
      llvm::equal(mesh.devices, llvm::seq<int64_t>(0, count)))
    mesh.devices.clear();
  return mesh;
}

/// `@mesh, [...]` or `mesh<...>, [...]`.
Result<SdySharding> readShardingBody(StringRef text, MLIRContext *context) {
  SdySharding sharding;
  if (text.consume_front("mesh")) {
    StringRef body = takeBracketed(text);
    TANDEM_ASSIGN(sharding.mesh,
                  readMeshBody(body.drop_front().drop_back(), context));
  } else if (text.consume_front("@")) {
    size_t end = std::min(text.find(','), text.size());
    sharding.meshName = text.take_front(end).trim(" \"").str();
    text = text.drop_front(end);
  } else {
    return unreadable(text, "a mesh's name or mesh<...>");
  }
  sharding.rest = text.str();
  return sharding;
}

} // namespace

Result<ShardingAttr> SdySharding::on(FlatSymbolRefAttr name) const {
  return parseOurs<ShardingAttr>(
      "#tandem.sharding<" + printed(name) + rest + ">", name.getContext());
}

Result<SdyMesh> readSdyMesh(Attribute attr) {
  std::optional<StringRef> body = bodyOf(attr, "mesh");
  if (!body)
    return unreadable(printed(attr), "#sdy.mesh<...>");
  return readMeshBody(*body, attr.getContext());
}

Result<SdySharding> readSdySharding(Attribute attr) {
  std::optional<StringRef> body = bodyOf(attr, "sharding");
  if (!body)
    return unreadable(printed(attr), "#sdy.sharding<...>");
  return readShardingBody(*body, attr.getContext());
}

Result<std::vector<SdySharding>> readSdyShardings(Attribute attr) {
  std::optional<StringRef> body = bodyOf(attr, "sharding_per_value");
  StringRef text = body ? body->trim() : "";
  if (!text.consume_front("[") || !text.consume_back("]"))
    return unreadable(printed(attr), "#sdy.sharding_per_value<[...]>");
  std::vector<SdySharding> shardings;
  while (!text.empty()) {
    StringRef one = takeBracketed(text);
    if (one.empty())
      return unreadable(printed(attr), "shardings in <...>");
    TANDEM_ASSIGN(
        SdySharding sharding,
        readShardingBody(one.drop_front().drop_back(), attr.getContext()));
    shardings.push_back(std::move(sharding));
    text.consume_front(",");
    text = text.ltrim();
  }
  return shardings;
}

} // namespace tandem
