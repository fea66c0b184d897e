/**
 * Programs with an environment of their own are given the compile cache of the others (vitest.config.ts): a start of Gantry costs half
 * the time with it.
 */
export const compileCache: { readonly NODE_COMPILE_CACHE: string } = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
};
