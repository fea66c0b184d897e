/** The address of a question in the inbox, for what leads there from outside the page. Without the schemas: the page's worker has it too. */
export const inboxLink = (approvalId: string | undefined): string =>
  approvalId === undefined ? '/inbox' : `/inbox?approval=${encodeURIComponent(approvalId)}`;
