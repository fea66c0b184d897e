/** Pages of the rail that `gantry open` opens, by the names that stand there. */
export const pages: readonly string[] =
  'floor work inbox tools connectors computers phone ledger queue settings docs'.split(' ');
