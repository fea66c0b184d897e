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
export const latexSymbols: ReadonlyMap<string, string> = new Map([...pairs(named.trim().split(/\s+/)), ...others]);

function pairs(words: readonly string[]): (readonly [string, string])[] {
  return words.flatMap((word, index) => (index % 2 === 0 ? [[word, words[index + 1] ?? ''] as const] : []));
}
