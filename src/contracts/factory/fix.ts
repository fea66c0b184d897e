/** Tells a command from a sentence: a command begins with a program, in lower case. Nobody should paste a sentence into a terminal. */
export const isCommand = (fix: string): boolean => /^[a-z~./]/.test(fix);
