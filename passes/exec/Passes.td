//===- Passes.td - From tensors to buffers and launches ----*- tablegen -*-===//

#ifndef TANDEM_PASSES_EXEC_PASSES_TD
#define TANDEM_PASSES_EXEC_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToExec : Pass<"tandem-lower-to-exec", "::mlir::ModuleOp"> {
  let summary = "tensors become buffers, operations launches";
  let description = [{
    Precondition: phase 3.

    Transformation: every operation is launched as the kernel that its
    `KernelOpInterface` names, into buffers of its own; a broadcast that only
    elementwise kernels read is folded into their rules; a reshape that moves
    nothing renames its operand's buffer; an update of a state writes into the
    state's buffer, and that of a parameter into the parameter's. A microbatch
    is a view of the batch's buffer; what is accumulated over microbatches is
    zero in the prologue and grows in place; of one microbatch both are only
    other names. Nothing in the body writes over what another microbatch still
    reads. Collectives, sends and receives become
    `tandem.communicate`, with the workspace that `Collectives.h` asks for.

    Postcondition: phase 4, buffers without offsets.

    ```mlir
    tandem.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
      %0 = tandem.unary exp, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

def AssignStreams : Pass<"tandem-assign-streams", "::mlir::ModuleOp"> {
  let summary = "let sends and collectives run beside what follows them";
  let description = [{
    Precondition: `lower-to-exec`.

    Transformation: where the body of a step runs several times, its sends go on
    streams of their own, one for each lane to each receiver, so that no stage
    computes later because another receives late. An event holds a send until
    its buffer is written. Another, one for each slot, holds stream 0 until it
    is sent: for activations in the microbatch's backward action, for gradients
    in the next forward action of the stage, behind what is received there; at
    the end of the body it waits for all. Sends of a straight line stay where
    they are.

    In training steps a gather of what is there before its action goes ahead of
    the layer before its own, and what uses a reduction behind the layer after
    its own; a collective whose result is then needed only after enough other
    work runs on one more stream. A reduction behind the microbatches that makes
    much less of a sum goes to where the last of them adds to it, and runs with
    that microbatch alone (`tandem.last`).

    Postcondition: as before, with `tandem.record` and `tandem.wait`.

    ```mlir
    tandem.mesh @mesh = <["pp"=2]>
    func.func @f(%x: !tandem.buffer<tensor<4xf32>>) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
      tandem.communicate "send" ins(%x : !tandem.buffer<tensor<4xf32>>) outs() {target = 1 : i64}
      return
    }
    ```
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

def PlaceBuffers : Pass<"tandem-place-buffers", "::mlir::ModuleOp"> {
  let summary = "give every buffer its place in the arena";
  let description = [{
    Precondition: `lower-to-exec`.

    Transformation: where a launch may work in place and its operand dies
    there, the result takes the operand's buffer over. Then buffers that are
    alive at once are kept apart (`passes/strategy/ArenaPlacement.h`); inputs
    of the entry live from its start, results until its end. Where a body runs
    several times, what one action leaves for another lies in a slot of its
    pool, of which there are as many as microbatches are under way; what an
    action alone uses is scratch that all actions share; both together are one
    block that lives while the body runs.

    Postcondition: every `tandem.alloc` has an offset, and a pool where it lies
    in a slot; functions carry `tandem.arena_peak` and
    `tandem.arena_lower_bound`, in bytes, and with pools `tandem.slots`: of each
    its first byte, the bytes of a slot, and the number of slots.

    ```mlir
    tandem.mesh @mesh = <["tp"=1]>
    func.func @f(%x: !tandem.buffer<tensor<4xf32>>) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
      %0 = tandem.alloc : !tandem.buffer<tensor<4xf32>>
      return
    }
    ```
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

#endif // TANDEM_PASSES_EXEC_PASSES_TD
