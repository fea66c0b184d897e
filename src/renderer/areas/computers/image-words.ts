/** Which images a computer may have where its cloud allows all. Pure. */
export const anyImage = (driver: string): string =>
  driver === 'kubernetes' ? 'that its node has or can pull' : 'that the container engine has';
