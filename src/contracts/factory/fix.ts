/** A command begins with a program, in small letters; a step to take is a sentence. Nobody pastes a sentence into a terminal. */
export const isCommand = (fix: string): boolean => /^[a-z~./]/.test(fix);
