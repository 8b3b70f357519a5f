/* SPDX-License-Identifier: MIT */
/* step: cflags=-fcf-protection=full libs=-Wl,-z,lazy,-z,ibtplt */
/* The same with endbr64 in the PLT, in a section of its own. */
#include "plt.c"
