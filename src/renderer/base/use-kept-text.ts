/** A text that is being typed: leaving its page, or loading it again, does not lose it. */
import { useState } from 'react';
import { useServices } from './services.tsx';

export function useKeptText(place: string): [string, (text: string) => void] {
  const { keptTexts } = useServices();
  const [typed, setTyped] = useState({ place, text: keptTexts.of(place) });
  const text = typed.place === place ? typed.text : keptTexts.of(place);
  return [
    text,
    (next) => {
      keptTexts.keep(place, next);
      setTyped({ place, text: next });
    },
  ];
}
