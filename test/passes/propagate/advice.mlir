// RUN: tandem-opt %s --tandem-propagate-shardings --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Nobody said that "dp" splits the batch: both of its ranks compute all of it.
// expected-warning @below {{the ranks of "dp" repeat work: 2.00 x the flops of one rank alone, and 512 bytes a device; annotating x : [{"dp"}, {}] would make that 1.00 x and 256 bytes}}
module {
tandem.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @mlp(%x: tensor<8x16xf32> {tandem.input = "x"},
               %up: tensor<16x32xf32> {tandem.parameter = #tandem.view<"h.0.up">, tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
               %down: tensor<32x16xf32> {tandem.parameter = #tandem.view<"h.0.down">, tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{?}, {}]>}) {
  %0 = tandem.einsum "bd,df->bf" %x, %up : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = tandem.einsum "bf,fd->bd" %0, %down : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
}

// -----

// Parameters split by rows alone make the activations move; with the batch
// split the weights move instead: 3/4 of 256 bytes.
// expected-warning @below {{12288 bytes move on each device; annotating x : [{"fsdp"}, {}] would make that 192 bytes}}
module {
tandem.mesh @mesh = <["fsdp"=4]>
func.func @rows(%x: tensor<256x8xf32> {tandem.input = "x"},
                %w: tensor<8x8xf32> {tandem.parameter = #tandem.view<"w">, tandem.sharding = #tandem.sharding<@mesh, [{"fsdp"}, {}]>})
    -> tensor<256x8xf32> {
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<256x8xf32>, tensor<8x8xf32>) -> tensor<256x8xf32>
  %1 = tandem.unary exp, %0 : tensor<256x8xf32>
  return %1 : tensor<256x8xf32>
}
}

// -----

// A head that nobody split is found, though the batch cannot be.
// expected-warning @below {{the ranks of "tp" repeat work: 3.00 x the flops of one rank alone, and 0 bytes a device; annotating head : [{"tp"}, {}] would make that 1.00 x and 0 bytes}}
module {
tandem.mesh @mesh = <["tp"=3]>
func.func @head(%x: tensor<1x8xf32> {tandem.input = "x", tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>},
                %head: tensor<9x8xf32> {tandem.parameter = #tandem.view<"head">}) -> tensor<1x9xf32> {
  %0 = tandem.einsum "bd,vd->bv" %x, %head : (tensor<1x8xf32>, tensor<9x8xf32>) -> tensor<1x9xf32>
  return %0 : tensor<1x9xf32>
}
}
