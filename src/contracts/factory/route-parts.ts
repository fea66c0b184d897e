/** What the factory's route tables share: where they are served, and who may call them. */
export const base = '/api/factory';
export const area = 'factory';
export const errors = 'factory' as const;
/** Who reads: the person (also through the cloud's link), keys with the scope, and bots. */
export const readers = ['owner', 'link', 'key', 'bot'] as const;
/** Who steers: as readers, without bots. */
export const people = ['owner', 'link', 'key'] as const;
