/** Whether the app waits for a part of the page, and why. */
import { useSyncExternalStore } from 'react';
import { lateParts, type Wait } from '../ui/later.ts';

export const useLateParts = (): Wait | null => useSyncExternalStore(lateParts.subscribe, lateParts.get);
