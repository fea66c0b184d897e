/** Opens the place where a row of Home is answered. */
import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { Lead } from './need.ts';

export function useLead(): Lead {
  const navigate = useNavigate();
  return useCallback<Lead>((to) => void navigate(to as Parameters<typeof navigate>[0]), [navigate]);
}
