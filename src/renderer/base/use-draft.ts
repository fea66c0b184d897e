/** A text that is being typed: leaving its page, or loading it again, does not lose it. */
import { useState } from 'react';
import { useServices } from './services.tsx';

export function useDraft(place: string): [string, (text: string) => void] {
  const { drafts } = useServices();
  const [typed, setTyped] = useState({ place, text: drafts.of(place) });
  const text = typed.place === place ? typed.text : drafts.of(place);
  return [
    text,
    (next) => {
      drafts.keep(place, next);
      setTyped({ place, text: next });
    },
  ];
}
