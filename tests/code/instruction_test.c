/* SPDX-License-Identifier: MIT */
/* What single instructions are said to be and to do, one of each kind that is told apart. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "code/instruction.h"
#include "suites.h"

#define REG(number) ((number) + 1) /* so that 0 is none */

struct expected {
    const char *text;
    uint8_t bytes[15];
    uint8_t length;
    uint8_t operation;
    bool any_written; /* of registers that nothing is said of here: XOP, of which all operands are taken as written */
    uint16_t written;
    uint8_t source, destination, base, index;
    int32_t displacement;
    uint8_t stored;
    int64_t immediate;
    int64_t target; /* from the instruction's first byte */
};

/* The bytes are the GNU assembler's for the text. */
/* clang-format off */
static const struct expected table[] = {
    {"ret", {0xc3}, 1, .operation = SP_RETURN},
    {"repz ret", {0xf3, 0xc3}, 2, .operation = SP_RETURN},
    {"bnd ret", {0xf2, 0xc3}, 2, .operation = SP_RETURN},
    {"ret $8", {0xc2, 0x08, 0x00}, 3, .operation = SP_STOP},
    {"lret", {0xcb}, 1, .operation = SP_STOP},
    {".byte 0x66, 0xc3", {0x66, 0xc3}, 2, .operation = SP_STOP},
    {"push %rbx", {0x53}, 1, .operation = SP_PUSH, .source = REG(SP_HW_RBX)},
    {"push %r12", {0x41, 0x54}, 2, .operation = SP_PUSH, .source = REG(12)},
    {"push $1", {0x6a, 0x01}, 2, .operation = SP_PUSH, .immediate = 1},
    {"push $0x12345", {0x68, 0x45, 0x23, 0x01, 0x00}, 5, .operation = SP_PUSH, .immediate = 0x12345},
    {"pushf", {0x9c}, 1, .operation = SP_PUSH},
    {"pushw %bx", {0x66, 0x53}, 2, .operation = SP_STOP},
    {"pushw $1", {0x66, 0x6a, 0x01}, 3, .operation = SP_STOP},
    {"push 8(%rsp)", {0xff, 0x74, 0x24, 0x08}, 4, .operation = SP_PUSH, .base = REG(SP_HW_RSP), .displacement = 8},
    {"push 16(%rip)", {0xff, 0x35, 0x10, 0x00, 0x00, 0x00}, 6, .operation = SP_PUSH_SLOT, .target = 0x16},
    {"push %fs", {0x0f, 0xa0}, 2, .operation = SP_PUSH},
    {"push %gs", {0x0f, 0xa8}, 2, .operation = SP_PUSH},
    {".byte 0xff, 0xf3", {0xff, 0xf3}, 2, .operation = SP_PUSH, .source = REG(SP_HW_RBX)},
    {".byte 0x41, 0xff, 0xf4", {0x41, 0xff, 0xf4}, 3, .operation = SP_PUSH, .source = REG(12)},
    {"pop %rbp", {0x5d}, 1, .operation = SP_POP, .destination = REG(SP_HW_RBP)},
    {"pop %r15", {0x41, 0x5f}, 2, .operation = SP_POP, .destination = REG(15)},
    {"popf", {0x9d}, 1, .operation = SP_POP},
    {"popw %bx", {0x66, 0x5b}, 2, .operation = SP_STOP},
    {"pop 8(%rsp)", {0x8f, 0x44, 0x24, 0x08}, 4, .operation = SP_POP, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 4},
    {".byte 0x8f, 0xc3", {0x8f, 0xc3}, 2, .operation = SP_POP, .written = 1 << SP_HW_RBX, .destination = REG(SP_HW_RBX)},
    {"pop %fs", {0x0f, 0xa1}, 2, .operation = SP_POP},
    {"pop %gs", {0x0f, 0xa9}, 2, .operation = SP_POP},
    {"leave", {0xc9}, 1, .operation = SP_LEAVE},
    {"enter $16, $0", {0xc8, 0x10, 0x00, 0x00}, 4, .operation = SP_STOP},
    {"mov %rsp, %rbp", {0x48, 0x89, 0xe5}, 3, .operation = SP_MOVE, .written = 1 << SP_HW_RBP, .source = REG(SP_HW_RSP), .destination = REG(SP_HW_RBP)},
    {"mov %rax, %r9", {0x49, 0x89, 0xc1}, 3, .operation = SP_MOVE, .written = 1 << 9, .source = REG(SP_HW_RAX), .destination = REG(9)},
    {".byte 0x48, 0x8b, 0xe5", {0x48, 0x8b, 0xe5}, 3, .operation = SP_MOVE, .written = 1 << SP_HW_RSP, .source = REG(SP_HW_RBP), .destination = REG(SP_HW_RSP)},
    {"mov %esp, %ebp", {0x89, 0xe5}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RBP},
    {"mov %bx, %cx", {0x66, 0x89, 0xd9}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RCX},
    {"mov %rbx, 8(%rsp)", {0x48, 0x89, 0x5c, 0x24, 0x08}, 5, .operation = SP_STORE, .source = REG(SP_HW_RBX), .base = REG(SP_HW_RSP), .displacement = 8, .stored = 8},
    {"mov 0x128(%rbp), %rbx", {0x48, 0x8b, 0x9d, 0x28, 0x01, 0x00, 0x00}, 7, .operation = SP_LOAD, .written = 1 << SP_HW_RBX, .destination = REG(SP_HW_RBX), .base = REG(SP_HW_RBP), .displacement = 0x128},
    {"mov %rbx, (%rax,%r9,8)", {0x4a, 0x89, 0x1c, 0xc8}, 4, .operation = SP_STORE, .source = REG(SP_HW_RBX), .base = REG(SP_HW_RAX), .index = REG(9), .stored = 8},
    {"mov %ebx, 8(%rsp)", {0x89, 0x5c, 0x24, 0x08}, 4, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 4},
    {"mov %rbx, %fs:8(%rsp)", {0x64, 0x48, 0x89, 0x5c, 0x24, 0x08}, 6, .operation = SP_STORE, .source = REG(SP_HW_RBX), .displacement = 8, .stored = 8},
    {"mov %fs:0x28, %rax", {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0x00, 0x00, 0x00}, 9, .operation = SP_LOAD, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .displacement = 0x28},
    {"mov 8(%esp), %rax", {0x67, 0x48, 0x8b, 0x44, 0x24, 0x08}, 6, .operation = SP_LOAD, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .displacement = 8},
    {"mov (%r12), %rax", {0x49, 0x8b, 0x04, 0x24}, 4, .operation = SP_LOAD, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .base = REG(12)},
    {"mov (%r13), %rax", {0x49, 0x8b, 0x45, 0x00}, 4, .operation = SP_LOAD, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .base = REG(13)},
    {"mov 0(%rip), %rax", {0x48, 0x8b, 0x05, 0x00, 0x00, 0x00, 0x00}, 7, .operation = SP_LOAD, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX)},
    {"mov 0x100, %rax", {0x48, 0x8b, 0x04, 0x25, 0x00, 0x01, 0x00, 0x00}, 8, .operation = SP_LOAD, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .displacement = 0x100},
    {"lock xadd %rbx, (%rsp)", {0xf0, 0x48, 0x0f, 0xc1, 0x1c, 0x24}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .base = REG(SP_HW_RSP), .stored = 8},
    {"xchg %rbx, (%rsp)", {0x48, 0x87, 0x1c, 0x24}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .base = REG(SP_HW_RSP), .stored = 8},
    {"lea -0x28(%rbp), %rsp", {0x48, 0x8d, 0x65, 0xd8}, 4, .operation = SP_ADDRESS, .written = 1 << SP_HW_RSP, .destination = REG(SP_HW_RSP), .base = REG(SP_HW_RBP), .displacement = -0x28},
    {"lea (%rsp,%rax), %rdi", {0x48, 0x8d, 0x3c, 0x04}, 4, .operation = SP_ADDRESS, .written = 1 << SP_HW_RDI, .destination = REG(SP_HW_RDI), .base = REG(SP_HW_RSP), .index = REG(SP_HW_RAX)},
    {"lea 8(%rip), %rax", {0x48, 0x8d, 0x05, 0x08, 0x00, 0x00, 0x00}, 7, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"lea 8(%rsp), %eax", {0x8d, 0x44, 0x24, 0x08}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .base = REG(SP_HW_RSP), .displacement = 8},
    {"lea 8(%esp), %rax", {0x67, 0x48, 0x8d, 0x44, 0x24, 0x08}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .displacement = 8},
    {"add $8, %rsp", {0x48, 0x83, 0xc4, 0x08}, 4, .operation = SP_ADD, .written = 1 << SP_HW_RSP, .destination = REG(SP_HW_RSP), .immediate = 8},
    {"sub $0x100, %rsp", {0x48, 0x81, 0xec, 0x00, 0x01, 0x00, 0x00}, 7, .operation = SP_ADD, .written = 1 << SP_HW_RSP, .destination = REG(SP_HW_RSP), .immediate = -0x100},
    {"sub $-128, %rsp", {0x48, 0x83, 0xec, 0x80}, 4, .operation = SP_ADD, .written = 1 << SP_HW_RSP, .destination = REG(SP_HW_RSP), .immediate = 0x80},
    {"add $1, %r12", {0x49, 0x83, 0xc4, 0x01}, 4, .operation = SP_ADD, .written = 1 << 12, .destination = REG(12), .immediate = 1},
    {"add $8, %esp", {0x83, 0xc4, 0x08}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RSP, .immediate = 8},
    {"and $-16, %rsp", {0x48, 0x83, 0xe4, 0xf0}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RSP, .immediate = -0x10},
    {"addq $8, (%rsp)", {0x48, 0x83, 0x04, 0x24, 0x08}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .stored = 8, .immediate = 8},
    {"cmp $8, %rsp", {0x48, 0x83, 0xfc, 0x08}, 4, .operation = SP_OTHER, .immediate = 8},
    {"cmpl $0x1000, 8(%rsp)", {0x81, 0x7c, 0x24, 0x08, 0x00, 0x10, 0x00, 0x00}, 8, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .immediate = 0x1000},
    {"sub %rax, %rsp", {0x48, 0x29, 0xc4}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RSP},
    {"addb $1, %ah", {0x80, 0xc4, 0x01}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .immediate = 1},
    {"add $1, %spl", {0x40, 0x80, 0xc4, 0x01}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RSP, .immediate = 1},
    {"add $0x1000, %ax", {0x66, 0x05, 0x00, 0x10}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .immediate = 0x1000},
    {"add $0x10000, %rax", {0x48, 0x05, 0x00, 0x00, 0x01, 0x00}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .immediate = 0x10000},
    {"add $1, %al", {0x04, 0x01}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .immediate = 1},
    {"add %rbx, %rcx", {0x48, 0x01, 0xd9}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RCX},
    {".byte 0x48, 0x03, 0xcb", {0x48, 0x03, 0xcb}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RCX},
    {"cmp %rbx, %rcx", {0x48, 0x39, 0xd9}, 3, .operation = SP_OTHER},
    {"test %rbx, %rcx", {0x48, 0x85, 0xd9}, 3, .operation = SP_OTHER},
    {"test $1, %al", {0xa8, 0x01}, 2, .operation = SP_OTHER, .immediate = 1},
    {"add %bl, %ch", {0x00, 0xdd}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RCX},
    {"add %bl, %bpl", {0x40, 0x00, 0xdd}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBP},
    {"xor %eax, %eax", {0x31, 0xc0}, 2, .operation = SP_CONSTANT, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX)},
    {"xor %r9, %r9", {0x4d, 0x31, 0xc9}, 3, .operation = SP_CONSTANT, .written = 1 << 9, .destination = REG(9)},
    {"xor %rbx, %rcx", {0x48, 0x31, 0xd9}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RCX},
    {"xor %ax, %ax", {0x66, 0x31, 0xc0}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"xor %ecx, 0x11(%rcx)", {0x31, 0x49, 0x11}, 3, .operation = SP_OTHER, .base = REG(SP_HW_RCX), .displacement = 0x11, .stored = 4},
    {".byte 0x33, 0xdb", {0x33, 0xdb}, 2, .operation = SP_CONSTANT, .written = 1 << SP_HW_RBX, .destination = REG(SP_HW_RBX)},
    {"mov $60, %eax", {0xb8, 0x3c, 0x00, 0x00, 0x00}, 5, .operation = SP_CONSTANT, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .immediate = 0x3c},
    {"mov $-1, %eax", {0xb8, 0xff, 0xff, 0xff, 0xff}, 5, .operation = SP_CONSTANT, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .immediate = 0xffffffff},
    {"mov $-1, %rax", {0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff}, 7, .operation = SP_CONSTANT, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .immediate = -1},
    {"movabs $0x123456789abc, %r10", {0x49, 0xba, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12, 0x00, 0x00}, 10, .operation = SP_CONSTANT, .written = 1 << 10, .destination = REG(10), .immediate = 0x123456789abc},
    {"mov $1, %ax", {0x66, 0xb8, 0x01, 0x00}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .destination = REG(SP_HW_RAX), .immediate = 1},
    {"mov $1, %al", {0xb0, 0x01}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .immediate = 1},
    {"mov $1, %ah", {0xb4, 0x01}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX, .immediate = 1},
    {"mov $1, %bh", {0xb7, 0x01}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 1},
    {"mov $1, %bpl", {0x40, 0xb5, 0x01}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBP, .immediate = 1},
    {"mov $1, %r13b", {0x41, 0xb5, 0x01}, 3, .operation = SP_OTHER, .written = 1 << 13, .immediate = 1},
    {"movq $7, 8(%rsp)", {0x48, 0xc7, 0x44, 0x24, 0x08, 0x07, 0x00, 0x00, 0x00}, 9, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 8, .immediate = 7},
    {"movb $7, 8(%rsp)", {0xc6, 0x44, 0x24, 0x08, 0x07}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 4, .immediate = 7},
    {"movl $7, %ebp (c7)", {0xc7, 0xc5, 0x07, 0x00, 0x00, 0x00}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBP, .immediate = 7},
    {".byte 0xc7, 0xc8, 7, 0, 0, 0", {0xc7, 0xc8, 0x07, 0x00, 0x00, 0x00}, 6, .operation = SP_STOP, .written = 1 << SP_HW_RAX, .immediate = 7},
    {".byte 0xc6, 0xc8, 7", {0xc6, 0xc8, 0x07}, 3, .operation = SP_STOP, .written = 1 << SP_HW_RAX, .immediate = 7},
    {"movabs 0x1122334455667788, %al", {0xa0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, 9, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"movabs 0x1122334455667788, %rax", {0x48, 0xa1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, 10, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"movabs %al, 0x1122334455667788", {0xa2, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, 9, .operation = SP_OTHER},
    {"movabs %rax, 0x1122334455667788", {0x48, 0xa3, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, 10, .operation = SP_OTHER},
    {".byte 0x67, 0xa1, 1, 2, 3, 4", {0x67, 0xa1, 0x01, 0x02, 0x03, 0x04}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"jmp .+0x12", {0xeb, 0x10}, 2, .operation = SP_JUMP, .immediate = 0x10, .target = 0x12},
    {"jmp .+0x1005", {0xe9, 0x00, 0x10, 0x00, 0x00}, 5, .operation = SP_JUMP, .immediate = 0x1000, .target = 0x1005},
    {"je .+0x12", {0x74, 0x10}, 2, .operation = SP_BRANCH, .immediate = 0x10, .target = 0x12},
    {"jne .-0x80", {0x0f, 0x85, 0x7a, 0xff, 0xff, 0xff}, 6, .operation = SP_BRANCH, .immediate = -0x86, .target = -0x80},
    {"je .+0x1006", {0x0f, 0x84, 0x00, 0x10, 0x00, 0x00}, 6, .operation = SP_BRANCH, .immediate = 0x1000, .target = 0x1006},
    {"loop .+0x12", {0xe2, 0x10}, 2, .operation = SP_BRANCH, .written = 1 << SP_HW_RCX, .immediate = 0x10, .target = 0x12},
    {"jrcxz .+0x12", {0xe3, 0x10}, 2, .operation = SP_BRANCH, .written = 1 << SP_HW_RCX, .immediate = 0x10, .target = 0x12},
    {".byte 0x66, 0xe9, 0, 0", {0x66, 0xe9, 0x00, 0x00}, 4, .operation = SP_STOP},
    {"call .+0x1005", {0xe8, 0x00, 0x10, 0x00, 0x00}, 5, .operation = SP_CALL, .immediate = 0x1000, .target = 0x1005},
    {".byte 0x66, 0x48, 0xe8, 0, 0, 0, 0", {0x66, 0x48, 0xe8, 0x00, 0x00, 0x00, 0x00}, 7, .operation = SP_CALL, .target = 7},
    {"notrack jmp *%rax", {0x3e, 0xff, 0xe0}, 3, .operation = SP_JUMP_AWAY, .source = REG(SP_HW_RAX)},
    {"jmp *8(%rax)", {0xff, 0x60, 0x08}, 3, .operation = SP_JUMP_AWAY, .base = REG(SP_HW_RAX), .displacement = 8},
    {"jmp *0x10(%rip)", {0xff, 0x25, 0x10, 0x00, 0x00, 0x00}, 6, .operation = SP_JUMP_SLOT, .target = 0x16},
    {"bnd jmp *0x10(%rip)", {0xf2, 0xff, 0x25, 0x10, 0x00, 0x00, 0x00}, 7, .operation = SP_JUMP_SLOT, .target = 0x17},
    {"call *%rax", {0xff, 0xd0}, 2, .operation = SP_CALL},
    {"call *0x10(%rip)", {0xff, 0x15, 0x10, 0x00, 0x00, 0x00}, 6, .operation = SP_CALL_SLOT, .target = 0x16},
    {"call *8(%rax,%rcx,8)", {0xff, 0x54, 0xc8, 0x08}, 4, .operation = SP_CALL, .base = REG(SP_HW_RAX), .index = REG(SP_HW_RCX), .displacement = 8},
    {"lcall *(%rax)", {0xff, 0x18}, 2, .operation = SP_STOP, .base = REG(SP_HW_RAX)},
    {"ljmp *(%rax)", {0xff, 0x28}, 2, .operation = SP_STOP, .base = REG(SP_HW_RAX)},
    {"inc %rbx", {0x48, 0xff, 0xc3}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"decl 8(%rsp)", {0xff, 0x4c, 0x24, 0x08}, 4, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 4},
    {".byte 0xff, 0xf8", {0xff, 0xf8}, 2, .operation = SP_STOP},
    {"incb %bh", {0xfe, 0xc7}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {".byte 0xfe, 0xd0", {0xfe, 0xd0}, 2, .operation = SP_STOP, .written = 1 << SP_HW_RAX},
    {"syscall", {0x0f, 0x05}, 2, .operation = SP_SYSCALL},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, 4, .operation = SP_ENDBR},
    {"int3", {0xcc}, 1, .operation = SP_STOP},
    {"int $0x80", {0xcd, 0x80}, 2, .operation = SP_STOP, .immediate = -0x80},
    {"ud2", {0x0f, 0x0b}, 2, .operation = SP_STOP},
    {"hlt", {0xf4}, 1, .operation = SP_STOP},
    {"nop", {0x90}, 1, .operation = SP_OTHER},
    {"xchg %ax, %ax", {0x66, 0x90}, 2, .operation = SP_OTHER},
    {"pause", {0xf3, 0x90}, 2, .operation = SP_OTHER},
    {"nopw 8(%rax,%rax,1)", {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x08}, 6, .operation = SP_OTHER, .base = REG(SP_HW_RAX), .index = REG(SP_HW_RAX), .displacement = 8},
    {"xchg %rax, %rbx", {0x48, 0x93}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RBX},
    {"xchg %rax, %r8", {0x49, 0x90}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << 8},
    {"xchg %rbx, %rcx", {0x48, 0x87, 0xd9}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBX | 1 << SP_HW_RCX},
    {"rdsspq %rbx", {0xf3, 0x48, 0x0f, 0x1e, 0xcb}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {".byte 0x0f, 0x1e, 0xfa", {0x0f, 0x1e, 0xfa}, 3, .operation = SP_OTHER},
    {"prefetcht0 (%rax)", {0x0f, 0x18, 0x08}, 3, .operation = SP_OTHER, .base = REG(SP_HW_RAX)},
    {"cltq", {0x48, 0x98}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"cqto", {0x48, 0x99}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RDX},
    {"sahf", {0x9e}, 1, .operation = SP_OTHER},
    {"lahf", {0x9f}, 1, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"rep movsq", {0xf3, 0x48, 0xa5}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RCX | 1 << SP_HW_RSI | 1 << SP_HW_RDI},
    {"repne scasb", {0xf2, 0xae}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RCX | 1 << SP_HW_RSI | 1 << SP_HW_RDI},
    {"xlat", {0xd7}, 1, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"cld", {0xfc}, 1, .operation = SP_OTHER},
    {"cli", {0xfa}, 1, .operation = SP_STOP},
    {"in %dx, %al", {0xec}, 1, .operation = SP_STOP},
    {"outsb", {0x6e}, 1, .operation = SP_STOP},
    {"in $1, %al", {0xe4, 0x01}, 2, .operation = SP_STOP, .immediate = 1},
    {"movslq %ecx, %rbp", {0x48, 0x63, 0xe9}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBP},
    {"imul $8, %rcx, %rbx", {0x48, 0x6b, 0xd9, 0x08}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 8},
    {"imul $0x1000, %rcx, %rbx", {0x48, 0x69, 0xd9, 0x00, 0x10, 0x00, 0x00}, 7, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 0x1000},
    {"imul %rcx, %rbx", {0x48, 0x0f, 0xaf, 0xd9}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"mul %rcx", {0x48, 0xf7, 0xe1}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RDX},
    {"idiv %rcx", {0x48, 0xf7, 0xf9}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RDX},
    {"neg %rbx", {0x48, 0xf7, 0xdb}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"not %bh", {0xf6, 0xd7}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"testl $0x1000, 8(%rsp)", {0xf7, 0x44, 0x24, 0x08, 0x00, 0x10, 0x00, 0x00}, 8, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .immediate = 0x1000},
    {"testb $1, 8(%rsp)", {0xf6, 0x44, 0x24, 0x08, 0x01}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .immediate = 1},
    {"shl $3, %rbx", {0x48, 0xc1, 0xe3, 0x03}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 3},
    {"shl %cl, %r12", {0x49, 0xd3, 0xe4}, 3, .operation = SP_OTHER, .written = 1 << 12},
    {"sar %bh", {0xd0, 0xff}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"mov %ds, %eax", {0x8c, 0xd8}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {".byte 0x8e, 0xd8", {0x8e, 0xd8}, 2, .operation = SP_STOP},
    {"cpuid", {0x0f, 0xa2}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RBX | 1 << SP_HW_RCX | 1 << SP_HW_RDX},
    {"rdtsc", {0x0f, 0x31}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RDX},
    {"rdtscp", {0x0f, 0x01, 0xf9}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RCX | 1 << SP_HW_RDX},
    {"xgetbv", {0x0f, 0x01, 0xd0}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RCX | 1 << SP_HW_RDX},
    {"sgdt (%rax)", {0x0f, 0x01, 0x00}, 3, .operation = SP_STOP, .base = REG(SP_HW_RAX)},
    {"swapgs", {0x0f, 0x01, 0xf8}, 3, .operation = SP_STOP},
    {"xend", {0x0f, 0x01, 0xd5}, 3, .operation = SP_OTHER},
    {"xtest", {0x0f, 0x01, 0xd6}, 3, .operation = SP_OTHER},
    {"wrmsr", {0x0f, 0x30}, 2, .operation = SP_STOP},
    {"cmove %rcx, %rbx", {0x48, 0x0f, 0x44, 0xd9}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"sete %bh", {0x0f, 0x94, 0xc7}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"setne 8(%rsp)", {0x0f, 0x95, 0x44, 0x24, 0x08}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 4},
    {"bt $3, %rbx", {0x48, 0x0f, 0xba, 0xe3, 0x03}, 5, .operation = SP_OTHER, .immediate = 3},
    {"bts $3, %rbx", {0x48, 0x0f, 0xba, 0xeb, 0x03}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 3},
    {"bt %rcx, %rbx", {0x48, 0x0f, 0xa3, 0xcb}, 4, .operation = SP_OTHER},
    {"bts %rcx, %rbx", {0x48, 0x0f, 0xab, 0xcb}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {".byte 0x0f, 0xba, 0xc0, 1", {0x0f, 0xba, 0xc0, 0x01}, 4, .operation = SP_STOP, .written = 1 << SP_HW_RAX, .immediate = 1},
    {"shld $3, %rcx, %rbx", {0x48, 0x0f, 0xa4, 0xcb, 0x03}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 3},
    {"shrd %cl, %rcx, %rbx", {0x48, 0x0f, 0xad, 0xcb}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"movzbl %bh, %ebp", {0x0f, 0xb6, 0xef}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBP},
    {"movsbq (%rsp), %rbp", {0x48, 0x0f, 0xbe, 0x2c, 0x24}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBP, .base = REG(SP_HW_RSP)},
    {"popcnt %rcx, %rbx", {0xf3, 0x48, 0x0f, 0xb8, 0xd9}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {".byte 0x0f, 0xb8, 0xd9", {0x0f, 0xb8, 0xd9}, 3, .operation = SP_STOP, .written = 1 << SP_HW_RBX},
    {"bsf %rcx, %rbx", {0x48, 0x0f, 0xbc, 0xd9}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"tzcnt %rcx, %rbx", {0xf3, 0x48, 0x0f, 0xbc, 0xd9}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"cmpxchg %rcx, %rbx", {0x48, 0x0f, 0xb1, 0xcb}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RBX},
    {"cmpxchg16b (%rdi)", {0x48, 0x0f, 0xc7, 0x0f}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RAX | 1 << SP_HW_RDX, .base = REG(SP_HW_RDI)},
    {"rdrand %rbx", {0x48, 0x0f, 0xc7, 0xf3}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"xadd %rcx, %rbx", {0x48, 0x0f, 0xc1, 0xcb}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX | 1 << SP_HW_RCX},
    {"bswap %r12", {0x49, 0x0f, 0xcc}, 3, .operation = SP_OTHER, .written = 1 << 12},
    {"bswap %ebx", {0x0f, 0xcb}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"movnti %rbx, (%rsp)", {0x48, 0x0f, 0xc3, 0x1c, 0x24}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .stored = 16},
    {"rdfsbase %rbx", {0xf3, 0x48, 0x0f, 0xae, 0xc3}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"wrfsbase %rbx", {0xf3, 0x48, 0x0f, 0xae, 0xd3}, 5, .operation = SP_OTHER},
    {"mfence", {0x0f, 0xae, 0xf0}, 3, .operation = SP_OTHER},
    {"ldmxcsr (%rsp)", {0x0f, 0xae, 0x14, 0x24}, 4, .operation = SP_OTHER, .base = REG(SP_HW_RSP)},
    {"crc32q %rcx, %rbx", {0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xd9}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX | 1 << SP_HW_RCX},
    {"movbe (%rax), %rbx", {0x48, 0x0f, 0x38, 0xf0, 0x18}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .base = REG(SP_HW_RAX)},
    {"movbe %rbx, (%rax)", {0x48, 0x0f, 0x38, 0xf1, 0x18}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .base = REG(SP_HW_RAX), .stored = 8},
    {"adcx %rcx, %rbx", {0x66, 0x48, 0x0f, 0x38, 0xf6, 0xd9}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"movaps %xmm4, %xmm5", {0x0f, 0x28, 0xec}, 3, .operation = SP_OTHER},
    {"movaps %xmm4, 8(%rsp)", {0x0f, 0x29, 0x64, 0x24, 0x08}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 16},
    {"movups (%rsp), %xmm3", {0x0f, 0x10, 0x1c, 0x24}, 4, .operation = SP_OTHER, .base = REG(SP_HW_RSP)},
    {"movd %xmm0, %ebx", {0x66, 0x0f, 0x7e, 0xc3}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"movq %xmm0, %rbx", {0x66, 0x48, 0x0f, 0x7e, 0xc3}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {".byte 0xf3, 0x0f, 0x7e, 0xc3", {0xf3, 0x0f, 0x7e, 0xc3}, 4, .operation = SP_OTHER},
    {"movq %xmm4, (%rsp)", {0x66, 0x0f, 0xd6, 0x24, 0x24}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .stored = 16},
    {"cvttsd2si %xmm4, %rbx", {0xf2, 0x48, 0x0f, 0x2c, 0xdc}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"pmovmskb %xmm4, %ebx", {0x66, 0x0f, 0xd7, 0xdc}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"movmskps %xmm4, %ebx", {0x0f, 0x50, 0xdc}, 3, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"pextrw $1, %xmm4, %ebx", {0x66, 0x0f, 0xc5, 0xdc, 0x01}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 1},
    {"pextrq $1, %xmm4, %rbx", {0x66, 0x48, 0x0f, 0x3a, 0x16, 0xe3, 0x01}, 7, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 1},
    {"extractps $1, %xmm4, %ebx", {0x66, 0x0f, 0x3a, 0x17, 0xe3, 0x01}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 1},
    {"pextrb $1, %xmm4, %ebx", {0x66, 0x0f, 0x3a, 0x14, 0xe3, 0x01}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 1},
    {"pinsrq $1, %rbx, %xmm4", {0x66, 0x48, 0x0f, 0x3a, 0x22, 0xe3, 0x01}, 7, .operation = SP_OTHER, .immediate = 1},
    {"pshufd $1, %xmm4, %xmm5", {0x66, 0x0f, 0x70, 0xec, 0x01}, 5, .operation = SP_OTHER, .immediate = 1},
    {"palignr $1, %xmm4, %xmm5", {0x66, 0x0f, 0x3a, 0x0f, 0xec, 0x01}, 6, .operation = SP_OTHER, .immediate = 1},
    {"pshufb %xmm4, %xmm5", {0x66, 0x0f, 0x38, 0x00, 0xec}, 5, .operation = SP_OTHER},
    {"emms", {0x0f, 0x77}, 2, .operation = SP_OTHER},
    {"fldl 8(%rsp)", {0xdd, 0x44, 0x24, 0x08}, 4, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 16},
    {"fnstsw %ax", {0xdf, 0xe0}, 2, .operation = SP_OTHER, .written = 1 << SP_HW_RAX},
    {"fxch %st(1)", {0xd9, 0xc9}, 2, .operation = SP_OTHER},
    {"fwait", {0x9b}, 1, .operation = SP_OTHER},
    {"vzeroupper", {0xc5, 0xf8, 0x77}, 3, .operation = SP_OTHER},
    {"vmovdqu %ymm4, 8(%rsp)", {0xc5, 0xfe, 0x7f, 0x64, 0x24, 0x08}, 6, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 8, .stored = 32},
    {"vmovdqu (%rsp), %ymm4", {0xc5, 0xfe, 0x6f, 0x24, 0x24}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP)},
    {"vpaddd %ymm4, %ymm5, %ymm3", {0xc5, 0xd5, 0xfe, 0xdc}, 4, .operation = SP_OTHER},
    {"vpmovmskb %ymm4, %ebx", {0xc5, 0xfd, 0xd7, 0xdc}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"vmovmskps %xmm4, %r12d", {0xc5, 0x78, 0x50, 0xe4}, 4, .operation = SP_OTHER, .written = 1 << 12},
    {"vmovd %xmm0, %ebp", {0xc5, 0xf9, 0x7e, 0xc5}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBP},
    {"vmovq %xmm0, %r13", {0xc4, 0xc1, 0xf9, 0x7e, 0xc5}, 5, .operation = SP_OTHER, .written = 1 << 13},
    {"vcvttsd2si %xmm4, %rbx", {0xc4, 0xe1, 0xfb, 0x2c, 0xdc}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"vpextrw $1, %xmm4, %ebx", {0xc5, 0xf9, 0xc5, 0xdc, 0x01}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 1},
    {"vpextrq $1, %xmm4, %rbx", {0xc4, 0xe3, 0xf9, 0x16, 0xe3, 0x01}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 1},
    {"vpshufd $1, %xmm4, %xmm5", {0xc5, 0xf9, 0x70, 0xec, 0x01}, 5, .operation = SP_OTHER, .immediate = 1},
    {"andn %rdx, %rcx, %rbx", {0xc4, 0xe2, 0xf0, 0xf2, 0xda}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"blsr %rcx, %rbx", {0xc4, 0xe2, 0xe0, 0xf3, 0xc9}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"bextr %rdx, %rcx, %rbx", {0xc4, 0xe2, 0xe8, 0xf7, 0xd9}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"mulx %rcx, %rbx, %r12", {0xc4, 0x62, 0xe3, 0xf6, 0xe1}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX | 1 << 12},
    {"pdep %rdx, %rcx, %rbx", {0xc4, 0xe2, 0xf3, 0xf5, 0xda}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"sarx %rdx, %rcx, %rbx", {0xc4, 0xe2, 0xea, 0xf7, 0xd9}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"rorx $5, %rcx, %rbx", {0xc4, 0xe3, 0xfb, 0xf0, 0xd9, 0x05}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX, .immediate = 5},
    {"mulx (%r12,%r9,8), %rbx, %r15", {0xc4, 0x02, 0xe3, 0xf6, 0x3c, 0xcc}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX | 1 << 15, .base = REG(12), .index = REG(9)},
    {"kmovq %k1, %rbx", {0xc4, 0xe1, 0xfb, 0x93, 0xd9}, 5, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"kmovw %k1, (%rsp)", {0xc5, 0xf8, 0x91, 0x0c, 0x24}, 5, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .stored = 32},
    {"vextractf128 $1, %ymm4, %xmm5", {0xc4, 0xe3, 0x7d, 0x19, 0xe5, 0x01}, 6, .operation = SP_OTHER, .immediate = 1},
    {"vmovdqu64 %zmm4, 0x40(%rsp)", {0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x64, 0x24, 0x01}, 8, .operation = SP_OTHER, .displacement = 1, .stored = 64},
    {"vmovdqu64 %zmm4, 0x41(%rsp)", {0x62, 0xf1, 0xfe, 0x48, 0x7f, 0xa4, 0x24, 0x41, 0x00, 0x00, 0x00}, 11, .operation = SP_OTHER, .base = REG(SP_HW_RSP), .displacement = 0x41, .stored = 64},
    {"vpaddd %zmm4, %zmm5, %zmm3", {0x62, 0xf1, 0x55, 0x48, 0xfe, 0xdc}, 6, .operation = SP_OTHER},
    {"vcvttsd2usi %xmm4, %rbx", {0x62, 0xf1, 0xff, 0x08, 0x78, 0xdc}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"vpternlogd $1, %zmm4, %zmm5, %zmm3", {0x62, 0xf3, 0x55, 0x48, 0x25, 0xdc, 0x01}, 7, .operation = SP_OTHER, .immediate = 1},
    {"vmovd %xmm16, %ebp", {0x62, 0xe1, 0x7d, 0x08, 0x7e, 0xc5}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBP},
    {"vpextrd $1, %xmm16, %ebp", {0x62, 0xe3, 0x7d, 0x08, 0x16, 0xc5, 0x01}, 7, .operation = SP_OTHER, .written = 1 << SP_HW_RBP, .immediate = 1},
    {"vcvttsh2si %xmm4, %rbx", {0x62, 0xf5, 0xfe, 0x08, 0x2c, 0xdc}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"vmovw %xmm4, %ebx", {0x62, 0xf5, 0x7d, 0x08, 0x7e, 0xe3}, 6, .operation = SP_OTHER, .written = 1 << SP_HW_RBX},
    {"vaddph %zmm4, %zmm5, %zmm3", {0x62, 0xf5, 0x54, 0x48, 0x58, 0xdc}, 6, .operation = SP_OTHER},
    {"vprotb $1, %xmm4, %xmm5", {0x8f, 0xe8, 0x78, 0xc0, 0xec, 0x01}, 6, .operation = SP_OTHER, .immediate = 1},
    {"blci %rcx, %rbx", {0x8f, 0xe9, 0xe0, 0x02, 0xf1}, 5, .operation = SP_OTHER, .any_written = true},
    {"vphaddbd %xmm4, %xmm5", {0x8f, 0xe9, 0x78, 0xc2, 0xec}, 5, .operation = SP_OTHER, .any_written = true},
    {"bextr $0x1234, %rcx, %rbx", {0x8f, 0xea, 0xf8, 0x10, 0xd9, 0x34, 0x12, 0x00, 0x00}, 9, .operation = SP_OTHER, .any_written = true, .immediate = 0x1234},
    {"pfadd %mm0, %mm1", {0x0f, 0x0f, 0xc8, 0x9e}, 4, .operation = SP_OTHER, .immediate = -0x62},
    {".byte 0x26, 0x48, 0x89, 0xe5", {0x26, 0x48, 0x89, 0xe5}, 4, .operation = SP_MOVE, .written = 1 << SP_HW_RBP, .source = REG(SP_HW_RSP), .destination = REG(SP_HW_RBP)},
    {".byte 0x48, 0x26, 0x89, 0xe5", {0x48, 0x26, 0x89, 0xe5}, 4, .operation = SP_OTHER, .written = 1 << SP_HW_RBP},
    {".byte 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x44, 0x00, 0x08", {0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x44, 0x00, 0x08}, 8, .operation = SP_OTHER, .base = REG(SP_HW_RAX), .index = REG(SP_HW_RAX), .displacement = 8},
};
/* clang-format on */

static unsigned number(unsigned expected)
{
    return expected == 0 ? SP_HW_NONE : expected - 1;
}

static void assert_as_expected(const struct expected *expected, const struct sp_instruction *read, uintptr_t at)
{
    const char *text = expected->text;
    ck_assert_msg(read->length == expected->length, "%s: length %u", text, read->length);
    ck_assert_msg(read->operation == expected->operation, "%s: operation %u", text, read->operation);
    if (expected->operation == SP_STOP)
        return;
    ck_assert_msg(expected->any_written || read->written == expected->written, "%s: written %#x", text, read->written);
    ck_assert_msg(read->source == number(expected->source), "%s: source %u", text, read->source);
    ck_assert_msg(read->destination == number(expected->destination), "%s: destination %u", text, read->destination);
    ck_assert_msg(read->memory.base == number(expected->base), "%s: base %u", text, read->memory.base);
    ck_assert_msg(read->memory.index == number(expected->index), "%s: index %u", text, read->memory.index);
    ck_assert_msg(read->memory.displacement == expected->displacement, "%s: displacement %d", text,
                  read->memory.displacement);
    ck_assert_msg(read->stored == expected->stored, "%s: stored %u", text, read->stored);
    ck_assert_msg(read->immediate == expected->immediate, "%s: immediate %ld", text, (long)read->immediate);
    uintptr_t target = expected->target != 0 ? at + (uintptr_t)expected->target : 0;
    ck_assert_msg(read->target == target, "%s: target %ld", text, (long)(read->target - at));
}

START_TEST(kinds)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct sp_instruction read;
        uintptr_t at = (uintptr_t)table[i].bytes;
        ck_assert_msg(sp_instruction_read(at, at + sizeof table[i].bytes, &read), "%s: not read", table[i].text);
        assert_as_expected(&table[i], &read, at);
    }
}
END_TEST

/* Cut off at every length, before a page that can't be read. */
START_TEST(cut_off)
{
    uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        for (unsigned length = 0; length <= table[i].length; length++) {
            struct sp_instruction read;
            uint8_t *at = pages + 4096 - length;
            memcpy(at, table[i].bytes, length);
            bool whole = sp_instruction_read((uintptr_t)at, (uintptr_t)at + length, &read);
            /* fwait is one by itself too. */
            ck_assert_msg(whole == (length == table[i].length), "%s: %u bytes", table[i].text, length);
            /* The end may lie before it. */
            ck_assert(length == 0 || !sp_instruction_read((uintptr_t)at, (uintptr_t)at - 1, &read));
        }
    }
}
END_TEST

/* Encodings that don't exist, and instructions longer than 15 bytes. */
START_TEST(refused)
{
    static const uint8_t cases[][16] = {
        {0xc4, 0xe4, 0x00, 0x00},             /* VEX, map 4 */
        {0x66, 0xc5, 0xf8, 0x77},             /* VEX after an operand-size prefix */
        {0xf2, 0xc5, 0xf8, 0x77},             /* after repne */
        {0xf0, 0xc5, 0xf8, 0x77},             /* after lock */
        {0x48, 0xc5, 0xf8, 0x77},             /* after REX */
        {0x62, 0xf9, 0x7c, 0x48, 0x58, 0xc0}, /* EVEX, a bit of APX */
        {0x62, 0xf1, 0x78, 0x48, 0x58, 0xc0}, /* EVEX, its fixed bit */
        {0xc4, 0xe8, 0x78, 0xc0, 0xc0, 0},    /* XOP's map in VEX */
        {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90},
        {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x48, 0x81, 0xc4, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sp_instruction read;
        uintptr_t at = (uintptr_t)cases[i];
        ck_assert_msg(!sp_instruction_read(at, at + sizeof cases[i], &read), "case %zu", i);
    }
}
END_TEST

Suite *instruction_suite(void)
{
    Suite *suite = suite_create("instructions");
    TCase *tests = tcase_create("instructions");
    tcase_add_test(tests, kinds);
    tcase_add_test(tests, cut_off);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return suite;
}
