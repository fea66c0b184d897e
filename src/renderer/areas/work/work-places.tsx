/** The two views of work: campaigns with their boards, and schedules. */
import { useSearch } from '@tanstack/react-router';
import { SchedulesPage } from './schedules-page.tsx';
import { WorkPage } from './work-page.tsx';

export function WorkPlaces() {
  const { schedules } = useSearch({ from: '/work' });
  return schedules === undefined ? <WorkPage /> : <SchedulesPage />;
}
