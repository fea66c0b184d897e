/** Programs with a separate environment get the others' compile cache (vitest.config.ts): with it, a start of Gantry costs half the time. */
export const compileCache: { readonly NODE_COMPILE_CACHE: string } = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
};
