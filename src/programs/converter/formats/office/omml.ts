/**
 * Owns equations of Office (OMML, ECMA-376 part 1, 22.1) as LaTeX. Structure that LaTeX has is kept; what it has no word for keeps
 * its content. Must not know where an equation stands in its document.
 */
import { attribute, child, childrenOf, elements, localName, textOf, type XmlElement } from '../xml-tree.ts';

const functions = new Set(
  'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln lg exp lim max min sup inf det dim ker deg arg gcd hom Pr'.split(
    ' ',
  ),
);

const accents: Readonly<Record<string, string>> = {
  '\u0300': 'grave',
  '\u0301': 'acute',
  '\u0302': 'hat',
  '\u0303': 'tilde',
  '\u0304': 'bar',
  '\u0305': 'overline',
  '\u0306': 'breve',
  '\u0307': 'dot',
  '\u0308': 'ddot',
  '\u030c': 'check',
  '\u20d7': 'vec',
  '\u20d6': 'overleftarrow',
  '\u20db': 'dddot',
  '^': 'hat',
  '~': 'tilde',
  '¯': 'bar',
  '→': 'vec',
};

const styles: Readonly<Record<string, string>> = {
  'double-struck': 'mathbb',
  script: 'mathcal',
  fraktur: 'mathfrak',
  'sans-serif': 'mathsf',
  monospace: 'mathtt',
};

/** The LaTeX of `m:oMath` or `m:oMathPara`, without dollar signs. */
export function ommlToLatex(equation: XmlElement): string {
  if (localName(equation) === 'oMathPara') {
    const lines = childrenOf(equation, 'oMath')
      .map(inner)
      .filter((line) => line !== '');
    return lines.length < 2 ? (lines[0] ?? '') : `\\begin{gathered} ${lines.join(' \\\\ ')} \\end{gathered}`;
  }
  return inner(equation);
}

function inner(element: XmlElement | undefined): string {
  return elements(element)
    .map(convert)
    .join('')
    .replace(/(\\[a-zA-Z]+) (?=[^a-zA-Z])/g, '$1 ')
    .replace(/ {2,}/g, ' ')
    .trim();
}

const group = (element: XmlElement | undefined) => `{${inner(element)}}`;

/** A setting such as `m:fPr/m:type m:val="lin"`. */
function setting(element: XmlElement, name: string): string | undefined {
  const properties = elements(element).find((each) => localName(each).endsWith('Pr'));
  const found = child(properties, name);
  return found === undefined ? undefined : (attribute(found, 'val') ?? '');
}

const isOn = (value: string | undefined) =>
  value !== undefined && value !== '0' && value !== 'off' && value !== 'false';

function convert(element: XmlElement): string {
  const part = (name: string) => child(element, name);
  switch (localName(element)) {
    case 'r':
      return run(element);
    case 'f':
      return fraction(element);
    case 'sSup':
      return `${base(part('e'))}^${group(part('sup'))}`;
    case 'sSub':
      return `${base(part('e'))}_${group(part('sub'))}`;
    case 'sSubSup':
      return `${base(part('e'))}_${group(part('sub'))}^${group(part('sup'))}`;
    case 'sPre':
      return `{}_${group(part('sub'))}^${group(part('sup'))}${inner(part('e'))}`;
    case 'rad': {
      const degree = inner(part('deg'));
      return degree === '' || isOn(setting(element, 'degHide'))
        ? `\\sqrt${group(part('e'))}`
        : `\\sqrt[${degree}]${group(part('e'))}`;
    }
    case 'nary':
      return nary(element);
    case 'd':
      return delimited(element);
    case 'func':
      return `${inner(part('fName'))}${group(part('e'))}`;
    case 'limLow': {
      const name = inner(part('e'));
      return /^\\(?:lim|max|min|sup|inf|operatorname\{.*\})\s*$/.test(name)
        ? `${name}_${group(part('lim'))}`
        : `\\underset${group(part('lim'))}{${name}}`;
    }
    case 'limUpp':
      return `\\overset${group(part('lim'))}${group(part('e'))}`;
    case 'acc': {
      const char = setting(element, 'chr') ?? '\u0302';
      return `\\${accents[char] ?? 'hat'}${group(part('e'))}`;
    }
    case 'bar':
      return setting(element, 'pos') === 'top' ? `\\overline${group(part('e'))}` : `\\underline${group(part('e'))}`;
    case 'groupChr': {
      const above = setting(element, 'pos') === 'top';
      const char = setting(element, 'chr') ?? '⏟';
      if (char === '⏟' || char === '⏞') return `\\${above ? 'over' : 'under'}brace${group(part('e'))}`;
      return `\\${above ? 'over' : 'under'}set{${symbol(char).trim()}}${group(part('e'))}`;
    }
    case 'm':
      return `\\begin{matrix} ${rows(element)} \\end{matrix}`;
    case 'eqArr':
      return `\\begin{aligned} ${childrenOf(element, 'e').map(inner).join(' \\\\ ')} \\end{aligned}`;
    case 'borderBox':
      return `\\boxed${group(part('e'))}`;
    case 'box':
    case 'phant':
      return inner(part('e'));
    default:
      // Settings say how it looks; anything else unknown (ins, smartTag, w:r) is gone through.
      return localName(element).endsWith('Pr')
        ? ''
        : localName(element) === 't'
          ? escapeTex(textOf(element))
          : inner(element);
  }
}

/** What carries an index must be one thing to LaTeX. */
function base(element: XmlElement | undefined): string {
  const text = inner(element);
  return text.length <= 1 || /^\\[a-zA-Z]+$/.test(text) ? text : `{${text}}`;
}

function run(element: XmlElement): string {
  const text = childrenOf(element, 't').map(textOf).join('');
  const properties = child(element, 'rPr');
  if (child(properties, 'nor') !== undefined) return `\\text{${text.replace(/[\\{}]/g, '')}}`;
  if (functions.has(text.trim())) return `\\${text.trim()} `;
  const upright = attribute(child(properties, 'sty'), 'val') === 'p';
  if (upright && /^[a-zA-Z]{2,}$/.test(text.trim())) return `\\operatorname{${text.trim()}}`;
  const style = styles[attribute(child(properties, 'scr'), 'val') ?? ''];
  return style === undefined ? escapeTex(text) : `\\${style}{${escapeTex(text).trim()}}`;
}

function escapeTex(text: string): string {
  // Letters of the mathematical alphabets are plain letters to LaTeX.
  let made = '';
  for (const char of text.normalize('NFC')) made += symbol(char);
  return made;
}

function symbol(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const plain = code >= 0x1d400 && code <= 0x1d7ff ? char.normalize('NFKC') : char;
  const known = latexSymbols.get(plain);
  if (known === undefined) return plain;
  return /^\\[a-zA-Z]+$/.test(known) ? `${known} ` : known;
}

function fraction(element: XmlElement): string {
  const [above, below] = [child(element, 'num'), child(element, 'den')];
  const type = setting(element, 'type');
  if (type === 'lin' || type === 'skw') return `${group(above)}/${group(below)}`;
  if (type === 'noBar') return `\\genfrac{}{}{0pt}{}${group(above)}${group(below)}`;
  return `\\frac${group(above)}${group(below)}`;
}

function nary(element: XmlElement): string {
  const operator = symbol(setting(element, 'chr') ?? '∫').trim();
  const below = inner(child(element, 'sub'));
  const above = inner(child(element, 'sup'));
  const limits = `${below === '' ? '' : `_{${below}}`}${above === '' ? '' : `^{${above}}`}`;
  return `${operator}${limits}${limits === '' ? ' ' : ''}${group(child(element, 'e'))}`;
}

function delimited(element: XmlElement): string {
  const opening = setting(element, 'begChr') ?? '(';
  const closing = setting(element, 'endChr') ?? ')';
  const between = setting(element, 'sepChr') ?? '|';
  const parts = childrenOf(element, 'e');
  const only = parts.length === 1 ? elements(parts[0]).filter((each) => !localName(each).endsWith('Pr')) : [];
  const [matrix] = only;
  if (matrix !== undefined && only.length === 1) {
    if (localName(matrix) === 'm') {
      const kind = { '()': 'pmatrix', '[]': 'bmatrix', '{}': 'Bmatrix', '||': 'vmatrix', '‖‖': 'Vmatrix' }[
        opening + closing
      ];
      if (kind !== undefined) return `\\begin{${kind}} ${rows(matrix)} \\end{${kind}}`;
    }
    if (localName(matrix) === 'eqArr' && opening === '{' && closing === '') {
      return `\\begin{cases} ${childrenOf(matrix, 'e').map(inner).join(' \\\\ ')} \\end{cases}`;
    }
    if (opening === '(' && closing === ')' && localName(matrix) === 'f' && setting(matrix, 'type') === 'noBar') {
      return `\\binom${group(child(matrix, 'num'))}${group(child(matrix, 'den'))}`;
    }
  }
  const side = (char: string) => (char === '' ? '.' : symbol(char).trim());
  return `\\left${side(opening)} ${parts.map(inner).join(` ${symbol(between).trim()} `)} \\right${side(closing)}`;
}

function rows(matrix: XmlElement): string {
  return childrenOf(matrix, 'mr')
    .map((row) => childrenOf(row, 'e').map(inner).join(' & '))
    .join(' \\\\ ');
}

/** Owns which characters of an equation have a LaTeX name. */

/** Character and name in turn. */
const named = String.raw`
  α \alpha  β \beta  γ \gamma  δ \delta  ε \varepsilon  ϵ \epsilon  ζ \zeta  η \eta  θ \theta  ϑ \vartheta
  ι \iota  κ \kappa  λ \lambda  μ \mu  ν \nu  ξ \xi  π \pi  ϖ \varpi  ρ \rho  ϱ \varrho  σ \sigma  ς \varsigma
  τ \tau  υ \upsilon  φ \varphi  ϕ \phi  χ \chi  ψ \psi  ω \omega  Γ \Gamma  Δ \Delta  Θ \Theta  Λ \Lambda  Ξ \Xi
  Π \Pi  Σ \Sigma  Υ \Upsilon  Φ \Phi  Ψ \Psi  Ω \Omega  ± \pm  ∓ \mp  × \times  ÷ \div  ⋅ \cdot  · \cdot  ∗ \ast
  ∘ \circ  ≤ \leq  ≥ \geq  ≠ \neq  ≈ \approx  ≡ \equiv  ∼ \sim  ≅ \cong  ∝ \propto  ≪ \ll  ≫ \gg  ∞ \infty
  ∂ \partial  ∇ \nabla  ∅ \emptyset  ∈ \in  ∉ \notin  ∋ \ni  ⊂ \subset  ⊃ \supset  ⊆ \subseteq  ⊇ \supseteq
  ∪ \cup  ∩ \cap  ∖ \setminus  ∧ \wedge  ∨ \vee  ¬ \neg  ∀ \forall  ∃ \exists  → \rightarrow  ← \leftarrow
  ↔ \leftrightarrow  ⇒ \Rightarrow  ⇐ \Leftarrow  ⇔ \Leftrightarrow  ↦ \mapsto  ↑ \uparrow  ↓ \downarrow
  … \ldots  ⋯ \cdots  ⋮ \vdots  ⋱ \ddots  ∑ \sum  ∏ \prod  ∐ \coprod  ∫ \int  ∬ \iint  ∭ \iiint  ∮ \oint
  ⋃ \bigcup  ⋂ \bigcap  √ \surd  ⊕ \oplus  ⊗ \otimes  ⊥ \perp  ∥ \parallel  ∠ \angle  ′ '  ″ ''  ℏ \hbar  ℓ \ell
  ℜ \Re  ℑ \Im  ℵ \aleph  ℝ \mathbb{R}  ℕ \mathbb{N}  ℤ \mathbb{Z}  ℚ \mathbb{Q}  ℂ \mathbb{C}  ⟨ \langle
  ⟩ \rangle  ⌊ \lfloor  ⌋ \rfloor  ⌈ \lceil  ⌉ \rceil  ‖ \|  ∣ \mid  − -  ° ^{\circ}  † \dagger  { \{  } \}  # \#
  % \%  & \&  $ \$  _ \_
`;

/** Written with escapes here: they show as nothing, or mean something in a source. */
const others: readonly (readonly [string, string])[] = [
  ['\\', '\\backslash'],
  ['\u2061', ''],
  ['\u2062', ''],
  ['\u200b', ''],
  ['\u00a0', '~'],
];

/** A character that is not here stays as it is. */
const latexSymbols: ReadonlyMap<string, string> = new Map([...pairs(named.trim().split(/\s+/)), ...others]);

function pairs(words: readonly string[]): (readonly [string, string])[] {
  return words.flatMap((word, index) => (index % 2 === 0 ? [[word, words[index + 1] ?? ''] as const] : []));
}
