/** The fields of a dialog whose act stands below them: Enter in a field does what its button does. */
import type { ReactNode, RefObject } from 'react';
import type { Act } from './use-act.ts';

export function ActForm({
  act,
  form,
  children,
}: {
  act: Pick<Act, 'run'>;
  form?: RefObject<HTMLFormElement | null>;
  children: ReactNode;
}) {
  return (
    <form
      ref={form}
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        act.run();
      }}
    >
      {children}
      <button type="submit" hidden aria-hidden="true" tabIndex={-1} />
    </form>
  );
}
