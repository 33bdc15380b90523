//===- SdyText.h - Shardy's attributes from their text ----------*- C++ -*-===//
//
// An attribute of a dialect that is not linked is kept by MLIR as text,
// `#sdy.sharding<@mesh, [{"tp"}, {}]>` as `sharding<@mesh, [{"tp"}, {}]>`.
// What stands in the brackets is our own notation but for two things: a mesh
// may number its devices, and a sharding may write its mesh out.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_IMPORT_SDYTEXT_H
#define TANDEM_PASSES_IMPORT_SDYTEXT_H

#include "ir/Dialect.h"

namespace tandem {

struct SdyMesh {
  MeshAttr axes;
  /// The device at each row-major position; empty where that is its number.
  llvm::SmallVector<int64_t> devices;
};

struct SdySharding {
  std::string meshName;        ///< Empty where the mesh is written out.
  std::optional<SdyMesh> mesh; ///< The mesh that is written out.
  std::string rest;            ///< `, [...]` and what follows.

  /// The sharding on our mesh of that name.
  Result<ShardingAttr> on(mlir::FlatSymbolRefAttr name) const;
};

/// Reads `#sdy.mesh<...>`.
Result<SdyMesh> readSdyMesh(mlir::Attribute attr);
/// Reads `#sdy.sharding<...>`.
Result<SdySharding> readSdySharding(mlir::Attribute attr);
/// Reads `#sdy.sharding_per_value<[<...>, ...]>`.
Result<std::vector<SdySharding>> readSdyShardings(mlir::Attribute attr);

} // namespace tandem

#endif // TANDEM_PASSES_IMPORT_SDYTEXT_H
