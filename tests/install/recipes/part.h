/* SPDX-License-Identifier: MIT */
#ifdef __cplusplus
extern "C"
#endif
    int
    part_compare(int a, int b);
