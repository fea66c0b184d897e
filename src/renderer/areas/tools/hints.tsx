/** A tool's description of itself, small and grey: a claim of its server, which decides nothing. */
import type { ToolInfo } from '../../../contracts/tool-server/tools.ts';
import { hintsOf } from './tool-words.ts';

export function Hints({ tool }: { tool: ToolInfo }) {
  const hints = hintsOf(tool);
  if (hints.length === 0) return null;
  return (
    <span className="flex shrink-0 gap-1">
      {hints.map(({ word, says }) => (
        <span
          key={word}
          title={tool.server === null ? says : `${says}, according to ${tool.server}`}
          className="inline-flex h-[18px] items-center rounded-full border border-line-strong px-1.5 text-meta whitespace-nowrap text-muted"
        >
          {word}
        </span>
      ))}
    </span>
  );
}
