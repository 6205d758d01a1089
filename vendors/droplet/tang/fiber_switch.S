// SPDX-License-Identifier: Apache-2.0
//
// void dipu_tang_switch_stack(void** save, void* load)
//   Keeps the registers that a function must preserve on the running stack,
//   stores its pointer in *save, continues on the stack `load`. The modes of
//   the floating-point unit are those of the thread and stay as they are.
// void dipu_tang_start_stack()
//   Where a new stack starts, see Fiber::Fiber: calls a function that does not
//   return. Unwinding ends here.

#if defined(__x86_64__)

    .text
    .globl dipu_tang_switch_stack
    .hidden dipu_tang_switch_stack
    .type dipu_tang_switch_stack, @function
dipu_tang_switch_stack:
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    pushq %r12
    .cfi_adjust_cfa_offset 8
    pushq %r13
    .cfi_adjust_cfa_offset 8
    pushq %r14
    .cfi_adjust_cfa_offset 8
    pushq %r15
    .cfi_adjust_cfa_offset 8
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    .cfi_adjust_cfa_offset -8
    popq %r14
    .cfi_adjust_cfa_offset -8
    popq %r13
    .cfi_adjust_cfa_offset -8
    popq %r12
    .cfi_adjust_cfa_offset -8
    popq %rbx
    .cfi_adjust_cfa_offset -8
    popq %rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size dipu_tang_switch_stack, .-dipu_tang_switch_stack

    .globl dipu_tang_start_stack
    .hidden dipu_tang_start_stack
    .type dipu_tang_start_stack, @function
dipu_tang_start_stack:
    .cfi_startproc
    .cfi_undefined rip
    movq %r13, %rdi
    call *%r12
    ud2
    .cfi_endproc
    .size dipu_tang_start_stack, .-dipu_tang_start_stack

#elif defined(__aarch64__)

    .text
    .globl dipu_tang_switch_stack
    .hidden dipu_tang_switch_stack
    .type dipu_tang_switch_stack, %function
dipu_tang_switch_stack:
    .cfi_startproc
    sub sp, sp, #160
    .cfi_adjust_cfa_offset 160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    .cfi_adjust_cfa_offset -160
    ret
    .cfi_endproc
    .size dipu_tang_switch_stack, .-dipu_tang_switch_stack

    .globl dipu_tang_start_stack
    .hidden dipu_tang_start_stack
    .type dipu_tang_start_stack, %function
dipu_tang_start_stack:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    blr x19
    brk #0
    .cfi_endproc
    .size dipu_tang_start_stack, .-dipu_tang_start_stack

#else
#error "tang's barriers need a switch of stacks for this processor"
#endif

    .section .note.GNU-stack, "", %progbits
