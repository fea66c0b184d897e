/** Shared parts of the factory's route tables: where they are served, and who may call them. */
export const base = '/api/factory';
export const area = 'factory';
export const errors = 'factory' as const;
/** Readers: the person (the owner, or a user of a cloud of many; also through the link), keys with the scope, and bots. */
export const readers = ['owner', 'user', 'link', 'key', 'bot'] as const;
/** People who steer: readers without bots. */
export const people = ['owner', 'user', 'link', 'key'] as const;
