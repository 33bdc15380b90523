//===- Passes.td - From global tensors to local ones -------*- tablegen -*-===//

#ifndef TANDEM_PASSES_PARTITION_PASSES_TD
#define TANDEM_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertReshards : Pass<"tandem-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "make every change of layout an operation";
  let description = [{
    Precondition: every value has a sharding (`propagate-shardings`).

    Transformation: for each operation the factors' axes are chosen among
    those that its tensors have, for the fewest wire bytes; operands that lie
    otherwise get a `tandem.reshard`, paid once for each value and layout, and
    so does a result that is to lie otherwise than the operation leaves it.
    Reductions wait: a value stays unreduced as long as all its uses are
    linear in it and do not make it larger; of a sum, unreduced terms are
    added first, reduced once, and then the rest is added.

    Postcondition: operands and results of each operation but `reshard` and
    `sharding_constraint` agree on each factor's axes, as `tandem.shardings`
    states; unreduced axes are stated there too.

    ```mlir
    tandem.mesh @mesh = <["tp"=2]>
    func.func @row(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"} ]>},
                   %w: tensor<8x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {} ]>})
        -> (tensor<4x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {} ]>}) {
      %0 = tandem.einsum "bd,df->bf" %x, %w {tandem.shardings = [#tandem.sharding<@mesh, [{}, {} ]>]} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
      return %0 : tensor<4x6xf32>
    }
    ```
    The product is unreduced over "tp"; a `reshard` behind it reduces it.
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

def Partition : Pass<"tandem-partition-module", "::mlir::ModuleOp"> {
  let summary = "global shapes become local ones, reshards collectives";
  let description = [{
    Precondition: `insert-reshards`.

    Transformation: every tensor gets the shape that one rank holds and the
    encoding `#tandem.local`; a `reshard` becomes the cheapest sequence of
    collectives (`passes/strategy/ReshardPath.h`), which carry its cause;
    constraints go.

    Postcondition: phase 2.

    ```mlir
    tandem.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {} ]>})
        -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {} ]>}) {
      %0 = tandem.reshard %x {sharding = #tandem.sharding<@mesh, [{}, {} ]>, cause = "output"} : tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
    becomes one `tandem.all_gather` over "tp" in dimension 0.
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

def CombineCollectives : Pass<"tandem-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "one collective where several do the same";
  let description = [{
    Precondition: phase 2.

    Transformation: collectives of one value with equal attributes become one;
    sums of values that are unreduced over the same axes, each all_reduced and
    then added, are added first and reduced once.

    ```mlir
    tandem.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<2x8xf32, #tandem.local<[4, 8], @mesh, [{"tp"}, {} ]>>) -> (tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {} ]>>, tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {} ]>>) {
      %0 = tandem.all_gather %x over <"tp"> dim 0 cause "a" : (tensor<2x8xf32, #tandem.local<[4, 8], @mesh, [{"tp"}, {} ]>>) -> tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {} ]>>
      %1 = tandem.all_gather %x over <"tp"> dim 0 cause "b" : (tensor<2x8xf32, #tandem.local<[4, 8], @mesh, [{"tp"}, {} ]>>) -> tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {} ]>>
      return %0, %1 : tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {} ]>>, tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {} ]>>
    }
    ```
    keeps one all_gather.
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

#endif // TANDEM_PASSES_PARTITION_PASSES_TD
