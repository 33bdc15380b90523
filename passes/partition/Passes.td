//===- Passes.td - From global tensors to local ones -------*- tablegen -*-===//

#ifndef TANDEM_PASSES_PARTITION_PASSES_TD
#define TANDEM_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FixSums : Pass<"tandem-fix-sums", "::mlir::ModuleOp"> {
  let summary = "write sums so that no layout changes their bits";
  let description = [{
    Precondition: phase 1, not yet propagated.

    Transformation: nothing unless the module has `tandem.layout_invariant`.
    Constraints that let a sum wait go: propagation brings sums together where
    they are made. A loss over a dimension that may be split becomes its local
    form. Sums over several dimensions, and products of two whole tensors, are
    taken one dimension at a time, the last first, so that any of them may be
    split. What would be rounded to a narrow type is rounded behind the sum.
    Scalars of several layers are added on lanes of their own, one a layer,
    which stages may hold apart.

    Postcondition: as before; `lower-to-exec` cuts what is left to sum into
    fixed pieces and refuses layouts that end within them.

    ```mlir
    module attributes {tandem.layout_invariant = 4 : i64} {
      tandem.mesh @mesh = <["tp"=2]>
      func.func @norm(%g: tensor<4x8xf32>) -> tensor<f32> {
        %0 = tandem.einsum "ab,ab->" %g, %g {tandem.layer = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<f32>
        return %0 : tensor<f32>
      }
    }
    ```
    The product gives the sum of each row, a `reduce` behind it adds the rows.
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

def InsertReshards : Pass<"tandem-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "make every change of layout an operation";
  let description = [{
    Precondition: every operation has a `tandem.choice`, every argument and
    result of a function a sharding (`propagate-shardings`).

    Transformation: a value that lies otherwise than an operation's choice
    needs it gets a `tandem.reshard`, one for each layout that it is needed
    in, made from one another where that is cheaper. An operation whose choice
    splits what it looks at as a whole (a norm, a softmax, a slice) becomes
    its local form. Of a sum, terms that the choice adds first become a sum
    of their own, which is reduced once.

    Postcondition: operands and results of each operation but `reshard` and
    `sharding_constraint` agree on each factor's axes, as `tandem.shardings`
    states; unreduced axes are stated there too. No `tandem.choice` is left.

    ```mlir
    tandem.mesh @mesh = <["tp"=2]>
    func.func @row(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"} ]>},
                   %w: tensor<8x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {} ]>})
        -> (tensor<4x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {} ]>}) {
      %0 = tandem.einsum "bd,df->bf" %x, %w {tandem.choice = {factors = [#tandem.axes<>, #tandem.axes<"tp">, #tandem.axes<>]}} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
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
