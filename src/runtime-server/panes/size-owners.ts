/** The viewer that typed last into a pane decides its size. In memory: after a restart the next one that asks gets it. */
export interface SizeOwners {
  typed(paneId: string, viewer: string): void;
  /** Whether this viewer may set the size: it typed last, or no viewer has typed. */
  mayResize(paneId: string, viewer: string): boolean;
  forget(paneId: string): void;
}

export function createSizeOwners(): SizeOwners {
  const last = new Map<string, string>();
  return {
    typed(paneId, viewer) {
      last.set(paneId, viewer);
    },
    mayResize(paneId, viewer) {
      const owner = last.get(paneId);
      return owner === undefined || owner === viewer;
    },
    forget(paneId) {
      last.delete(paneId);
    },
  };
}
