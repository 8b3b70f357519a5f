/* SPDX-License-Identifier: MIT */
/* step: cflags=-fno-plt */
/* The same without a PLT: calls through the GOT. */
#include "plt.c"
