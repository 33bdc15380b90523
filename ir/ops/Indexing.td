//===- Indexing.td - Rows chosen by values -----------------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_INDEXING_TD
#define TANDEM_IR_OPS_INDEXING_TD

include "ir/ops/Base.td"

def Tandem_EmbeddingOp : Tandem_TensorOp<"embedding", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "rows of a table by id";
  let description = [{
    ```mlir
    %x = tandem.embedding %table, %ids : (tensor<101x48xf32>, tensor<2x13xi32>) -> tensor<2x13x48xf32>
    ```
    The vocabulary is a reduction factor: a rank that holds some rows gives
    zeros for the others, and the result is unreduced. Linear in the table.

    Constraints:
    1. the table has two dimensions;
    2. the result's shape is that of the ids and then the row's.
  }];
  let arguments = (ins Tandem_FloatTensor:$table, Tandem_IntTensor:$ids);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_EmbeddingGradOp : Tandem_TensorOp<"embedding_grad"> {
  let summary = "rows added up by id: the gradient of embedding's table";
  let description = [{
    ```mlir
    %dtable = tandem.embedding_grad %ids, %dy : (tensor<2x13xi32>, tensor<2x13x48xf32>) -> tensor<101x48xf32>
    ```
    result[id] is the sum of the rows of that id, in row-major order of the
    ids. The vocabulary passes through: a rank adds what goes to the rows that
    it holds; over split ids the result is unreduced. Linear in dy.

    Constraints:
    1. the result has two dimensions; it is of f32, or of f64 for gradients of
       f64;
    2. dy has the shape of the ids and then the result's row.
  }];
  let arguments = (ins Tandem_IntTensor:$ids, Tandem_FloatTensor:$gradient);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $gradient attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_GatherOp : Tandem_TensorOp<"gather", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "elements of a dimension by index";
  let description = [{
    ```mlir
    %y = tandem.gather %x, %i {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x13x48xf32>, tensor<2xi32>) -> tensor<2x48xf32>
    ```
    result[batch, indices' own dimensions, rest] = input[batch, index, rest]:
    the indices' first `batch_dims` dimensions are the input's, and `dim` is
    the one behind them. The gathered dimension is a reduction factor: a rank
    gives zeros for what it does not hold. Linear in the input.

    Constraints:
    1. `dim` equals `batch_dims`, both in range;
    2. batch sizes agree;
    3. the result has the batch, index and remaining dimensions.
  }];
  let arguments = (ins Tandem_Tensor:$input, Tandem_IntTensor:$indices,
                       I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input `,` $indices attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_ScatterAddOp : Tandem_TensorOp<"scatter_add", [AllTypesMatch<["base", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "add rows to a tensor at indices";
  let description = [{
    ```mlir
    %y = tandem.scatter_add %base, %i, %rows {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<101x48xf32>, tensor<2x13xi32>, tensor<2x13x48xf32>) -> tensor<101x48xf32>
    ```
    The transpose of `gather`: rows that go to one place are added in
    row-major order of the indices, onto the base.

    Constraints:
    1. `gather` of the result with these attributes has the rows' shape.
  }];
  let arguments = (ins Tandem_Tensor:$base, Tandem_IntTensor:$indices,
                       Tandem_Tensor:$rows, I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$base `,` $indices `,` $rows attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_UpdateSliceOp : Tandem_TensorOp<"update_slice", [AllTypesMatch<["base", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "write rows into a cache at each batch row's position";
  let description = [{
    ```mlir
    %c = tandem.update_slice %cache, %rows, %positions, %lengths : (tensor<2x32x3x10xf32>, tensor<2x4x3x10xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x32x3x10xf32>
    ```
    Row i of batch row b goes to positions[b] + i along dimension 1 when
    i < lengths[b] and the place exists; nothing is clamped. Dimension 1 may be
    split: a rank writes what it holds, out of whole rows.

    Constraints:
    1. base and rows have at least two dimensions and differ at most in the
       second;
    2. positions and lengths have one entry a batch row.
  }];
  let arguments = (ins Tandem_Tensor:$base, Tandem_Tensor:$rows,
                       Tandem_IntTensor:$positions, Tandem_IntTensor:$lengths);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$base `,` $rows `,` $positions `,` $lengths attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_TopKOp : Tandem_TensorOp<"top_k", [DeclareOpInterfaceMethods<PartitionOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the largest values of the last dimension, and where they are";
  let description = [{
    ```mlir
    %v, %i = tandem.top_k %logits : (tensor<2x101xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
    %w, %j = tandem.top_k %v2 payload %i2 : (tensor<2x8xf32>, tensor<2x8xi32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
    ```
    Descending; ties go to the lower index. With a payload the second result
    holds payload entries in place of indices, and ties go to the lower of
    them: so candidates of several ranks are merged. With `pieces` n the last
    dimension is cut into n pieces (of the ceiling) and the results hold the
    k/n largest of each, piece after piece. The last dimension is a selection
    factor: over n ranks each gives the candidates of its piece, which are
    gathered and chosen from.

    Constraints:
    1. results have the operand's leading dimensions and k as the last, a
       multiple of `pieces`;
    2. k is at most the last dimension's size;
    3. a payload has the values' shape.
  }];
  let arguments = (ins Tandem_FloatTensor:$input, Optional<Tandem_IntTensor>:$payload,
      DefaultValuedAttr<I64Attr, "1">:$pieces);
  let results = (outs Tandem_FloatTensor:$values, Tandem_IntTensor:$indices);
  let assemblyFormat = "$input (`payload` $payload^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_SampleOp : Tandem_TensorOp<"sample"> {
  let summary = "draw the next id from logits";
  let description = [{
    ```mlir
    %id = tandem.sample %logits, %temperature, %top_k, %top_p, %seed, %position : (tensor<2x101xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi64>, tensor<2xi32>) -> tensor<2xi32>
    ```
    For each row: temperature 0 takes the largest (ties to the lower id);
    otherwise softmax(logits / temperature) over the `top_k` largest (0: all),
    of these the smallest leading set whose mass reaches `top_p`, and from it
    one draw by a Philox4x32-10 number keyed by seed, row and position, so
    that layout, batch and threads change nothing.

    Constraints:
    1. logits have a row for each entry of the other operands and the result.
  }];
  let arguments = (ins Tandem_FloatTensor:$logits, Tandem_FloatTensor:$temperature,
      Tandem_IntTensor:$top_k, Tandem_FloatTensor:$top_p, Tandem_IntTensor:$seed,
      Tandem_IntTensor:$positions);
  let results = (outs Tandem_IntTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_INDEXING_TD
