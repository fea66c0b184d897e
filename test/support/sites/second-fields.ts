/** Five tasks of fields, keys and frames, as on shop and account pages. Written only from the toolset's members. */
import type { Hands, Thing } from './hands.ts';
import type { Task } from './task.ts';

const button = (name: string, css: string): Thing => ({ role: 'button', name, css });
const field = (name: string, css: string): Thing => ({ role: 'textbox', name, css });

/** Reads again what a person sees, in case the page has redrawn since. */
async function again(act: () => Promise<void>): Promise<void> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await act();
    } catch (error) {
      if (tried === 3) throw error;
    }
  }
}

const booking: Task = {
  name: 'booking',
  site: (random) => {
    const two = (number: number) => String(number).padStart(2, '0');
    const [year, month, day] = [random.int(2027, 2032), two(random.int(1, 13)), two(random.int(1, 29))];
    const price = random.int(4, 96) * 5;
    const began = random.int(0, 101) * 5;
    const date = '<p><label for="arrival">Arrival</label><input type="date" id="arrival" required></p>';
    const slider = `<p><label for="price">Highest price</label><input type="range" id="price" min="0" max="500" step="5" value="${began}">
      <output>up to <b id="shown">${began}</b> euros</output></p>`;
    return {
      pages: {
        '/': `<style>#price{width:400px;margin:0}main{margin-top:${random.int(0, 160)}px}</style><h1>Find a room</h1>
          <main><form>${random.shuffle([date, slider]).join('')}<button>Search</button></form></main><script>
          // The page learns only from events, as with a framework.
          const state = { arrival: '', price: ${began} };
          arrival.oninput = () => { state.arrival = arrival.value; };
          price.oninput = () => { state.price = Number(price.value); shown.textContent = price.value; };
          document.forms[0].onsubmit = (event) => { event.preventDefault(); report(state); };</script>`,
      },
      done: (said) => {
        const { arrival, price: max } = (said ?? {}) as { arrival?: string; price?: number };
        return arrival === `${year}-${month}-${day}` && max === price;
      },
      async solve(hands) {
        const arrival = { role: '', name: 'Arrival', css: '#arrival' };
        const range = { role: 'slider', name: 'Highest price', css: '#price' };
        if (hands.way === 'reference') {
          await hands.fill(arrival, `${year}-${month}-${day}`);
          const ref = await hands.ref(range);
          await hands.call('form_input', { target: { type: 'ref', ref }, value: price });
        } else {
          await hands.click(arrival);
          await hands.key('Left', 2);
          await hands.type(`${month}${day}${year}`);
          // The thumb is 16 pixels wide; where it comes to lie is corrected with the keys, as people do.
          const { x, y } = await hands.spot(range);
          const at = (value: number) => ({ type: 'coordinate', x: Math.round(x - 192 + (384 * value) / 500), y });
          await hands.call('left_click_drag', { from: at(began), target: at(price) });
          const now = Number(/up to\s+(\d+)\s+euros/.exec(await hands.text())![1]);
          if (now !== price) await hands.key(now < price ? 'Right' : 'Left', Math.abs(price - now) / 5);
        }
        await hands.click(button('Search', 'form button'));
      },
    };
  },
};

const shadowShop: Task = {
  name: 'shadow-shop',
  site: (random) => {
    const names = Array.from({ length: 6 }, () => random.word());
    const wanted = random.int(0, names.length);
    const count = random.int(2, 5);
    return {
      pages: {
        '/': `<style>#shelf{display:grid;grid-template-columns:repeat(3,1fr);gap:${random.int(8, 40)}px}</style><h1>Shop</h1><div id="shelf">${names
          .map((name, at) => `<shop-card id="c${at}" item="${name}"><span slot="title">${name}</span></shop-card>`)
          .join('')}</div><p id="basket"></p><script>
          customElements.define('shop-stepper', class extends HTMLElement { connectedCallback() {
            const root = this.attachShadow({ mode: 'open' }); const item = this.getAttribute('item'); this.count = 1;
            root.innerHTML = '<button class="less" aria-label="Less ' + item + '">−</button> <span>1</span> <button class="more" aria-label="More ' + item + '">+</button>';
            const change = (by) => { this.count = Math.max(1, this.count + by); root.querySelector('span').textContent = this.count; };
            root.querySelector('.less').onclick = () => change(-1); root.querySelector('.more').onclick = () => change(1); } });
          customElements.define('shop-card', class extends HTMLElement { connectedCallback() {
            const root = this.attachShadow({ mode: 'open' }); const item = this.getAttribute('item');
            root.innerHTML = '<style>:host{display:block;border:1px solid #ccc;padding:12px}</style><h3><slot name="title"></slot></h3><shop-stepper item="' + item + '"></shop-stepper><p><button class="add">Add ' + item + '</button></p>';
            root.querySelector('.add').onclick = () => this.dispatchEvent(new CustomEvent('add', { bubbles: true, composed: true, detail: { item, count: root.querySelector('shop-stepper').count } })); } });
          document.addEventListener('add', ({ detail }) => { basket.textContent = detail.count + ' × ' + detail.item + ' in your basket'; report(detail); });</script>`,
      },
      done: (said) => {
        const { item, count: many } = (said ?? {}) as { item?: string; count?: number };
        return item === names[wanted] && many === count;
      },
      async solve(hands) {
        const more = button(`More ${names[wanted]}`, `#c${wanted} >> shop-stepper >> .more`);
        for (let now = 1; now < count; now += 1) await hands.click(more);
        await hands.click(button(`Add ${names[wanted]}`, `#c${wanted} >> .add`));
        await hands.until('in your basket');
      },
    };
  },
};

const paymentFrame: Task = {
  name: 'payment-frame',
  site: (random, { other }) => {
    const number = Array.from({ length: 16 }, () => random.int(0, 10)).join('');
    const code = String(random.int(100, 1000));
    const late = random.int(50, 400);
    return {
      pages: {
        '/': `<h1>Checkout</h1><p style="height:${random.int(0, 200)}px">Your order: ${random.word()}</p>
          <iframe id="secure" title="Secure payment" src="${other}/pay" width="400" height="240" style="border:1px solid #ccc;margin-left:${random.int(0, 200)}px"></iframe><p id="end"></p>
          <script>onmessage = (event) => { if (event.origin !== '${other}') return; end.textContent = 'Thank you'; report(event.data); };</script>`,
        '/pay': `<style>body{margin:0}input,button,label{position:absolute;left:20px;margin:0;box-sizing:border-box}input,button{height:36px;width:260px}</style>
          <label for="number" style="top:10px">Card number</label><input id="number" inputmode="numeric" autocomplete="cc-number" style="top:36px">
          <label for="code" style="top:86px">Security code</label><input id="code" inputmode="numeric" maxlength="4" style="top:112px">
          <button id="pay" style="top:180px">Pay</button><script>
          const input = document.querySelector('#number');
          input.oninput = () => { input.value = input.value.replace(/\\D/g, '').slice(0, 16).replace(/(.{4})(?=.)/g, '$1 '); };
          pay.onclick = () => { pay.disabled = true; setTimeout(() => parent.postMessage({ number: input.value, code: code.value }, '*'), ${late}); };</script>`,
      },
      done: (said) => {
        const paid = (said ?? {}) as { number?: string; code?: string };
        return paid.number === number.replace(/(.{4})(?=.)/g, '$1 ') && paid.code === code;
      },
      async solve(hands) {
        if (hands.way === 'reference') {
          await hands.fill(field('Card number', ''), number);
          await hands.fill(field('Security code', ''), code);
          await hands.click(button('Pay', ''));
        } else {
          // The page cannot see into the frame, people can: places are counted from the middle of the frame.
          const { x, y } = await hands.spot({ role: 'iframe', name: 'Secure payment', css: '#secure' });
          const click = (dy: number) =>
            hands.call('left_click', { target: { type: 'coordinate', x: x - 60, y: y + dy } });
          await hands.until('Your order');
          await drawn(hands);
          await click(54 - 120);
          await hands.type(number);
          await click(130 - 120);
          await hands.type(code);
          await click(198 - 120);
        }
        await hands.until('Thank you');
      },
    };
  },
};

/** The frame is loaded: the tree of the page has its button. People see that; the script of the page around it cannot. */
async function drawn(hands: Hands): Promise<void> {
  await hands.ref(button('Pay', ''));
}

const commandKeys: Task = {
  name: 'command-keys',
  site: (random) => {
    const stem = random.word();
    const commands = random.shuffle(['Open', 'Close', 'Assign', 'Archive', 'Delete'].map((verb) => `${verb} ${stem}`));
    const others = Array.from({ length: 4 }, () => `Show ${random.word()}`);
    const people = Array.from({ length: random.int(6, 15) }, () => random.word());
    const [command, person] = [random.int(0, commands.length), random.int(0, people.length)];
    const debounce = random.int(120, 400);
    return {
      pages: {
        '/': `<style>#palette{position:fixed;top:80px;left:120px;width:480px;padding:12px;background:#fff;border:1px solid #888;box-shadow:0 8px 40px #0004}
          [aria-selected=true]{background:#cde}[role=option]{padding:4px 8px}</style><h1>Tickets</h1><p>Press ctrl+k for commands.</p>
          <div id="palette" role="dialog" aria-label="Commands" hidden><input id="query" role="combobox" aria-label="Command" aria-controls="list" aria-expanded="true" autocomplete="off">
          <div id="list" role="listbox" aria-label="Results"></div><small id="hint"></small></div><p id="end"></p><script>
          const commands = ${JSON.stringify(random.shuffle([...others, ...commands]))}, people = ${JSON.stringify(people)};
          let shown = [], at = 0, chosen = null, timer;
          // There is nothing here for the mouse.
          const draw = (items, words) => { shown = items; at = 0; list.replaceChildren(...items.map((item, i) => { const row = document.createElement('div'); row.role = 'option'; row.id = 'r' + i; row.textContent = item; return row; })); hint.textContent = words; mark(); };
          const mark = () => { [...list.children].forEach((row, i) => row.setAttribute('aria-selected', i === at)); query.setAttribute('aria-activedescendant', 'r' + at); };
          document.addEventListener('keydown', (event) => { if (event.ctrlKey && event.key === 'k') { event.preventDefault(); palette.hidden = false; draw(commands, ''); query.focus(); } });
          query.oninput = () => { clearTimeout(timer); hint.textContent = 'Searching…'; timer = setTimeout(() => { const found = commands.filter((one) => one.includes(query.value)); draw(found, found.length + ' results'); }, ${debounce}); };
          query.onkeydown = (event) => { const last = shown.length - 1;
            const to = { ArrowDown: at === last ? 0 : at + 1, ArrowUp: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
            if (to !== undefined) { event.preventDefault(); at = to; mark(); return; }
            if (event.key !== 'Enter' || shown.length === 0 || hint.textContent === 'Searching…') return;
            if (chosen === null) { chosen = shown[at]; query.value = ''; draw(people, 'For whom?'); return; }
            report({ command: chosen, person: shown[at] }); palette.hidden = true; end.textContent = 'Done'; };</script>`,
      },
      done: (said) => {
        const did = (said ?? {}) as { command?: string; person?: string };
        return did.command === commands[command] && did.person === people[person];
      },
      async solve(hands) {
        await hands.key('ctrl+k');
        await hands.type(stem);
        const found = await hands.until(`${commands.length} results`);
        // Their order is what the page shows.
        const order = [...commands].sort((a, b) => found.indexOf(a) - found.indexOf(b));
        const down = order.indexOf(commands[command]!);
        if (down > 0) await hands.key('Down', down);
        await hands.key('Return');
        await hands.until('For whom?');
        await hands.key('End');
        const up = people.length - 1 - person;
        if (up > 0) await hands.key('Up', up);
        await hands.key('Enter');
        await hands.until('Done');
      },
    };
  },
};

const accountWizard: Task = {
  name: 'account-wizard',
  site: (random) => {
    const secret = `${random.pick(['Pässwörd', 'Žluťoučký', 'Ærø'])}-${random.pick(['密码', 'пароль', 'كلمة'])}-${random.pick(['🔑', '👩‍🚀'])} ${random.word()}`;
    const plans = random.shuffle(['Free', 'Team', 'Company']);
    const plan = random.pick(plans);
    const code = `${random.word()}-${random.word()}-${random.int(100, 1000)}`;
    return {
      pages: {
        '/': `<style>main{margin-top:${random.int(0, 120)}px}</style><h1>Set up your account</h1><main id="app"></main><script>
          const state = { step: 1, secret: '', repeat: '', plan: '', typed: '', pasted: 0 }; let held = false, timer;
          onpointerdown = () => { held = true; }; onpointerup = () => { held = false; };
          const input = (id, label, type, more = '') => '<p><label for="' + id + '">' + label + '</label><input id="' + id + '" type="' + type + '" ' + more + '></p>';
          const steps = { 1: () => '<h2>Choose a password</h2>' + input('secret', 'Password', 'password', 'autocomplete="new-password"') + input('repeat', 'Repeat password', 'password') + '<p>' + (state.secret && state.secret === state.repeat ? 'Passwords match' : 'Two times the same') + '</p>',
            2: () => '<h2>Choose a plan</h2>' + ${JSON.stringify(plans)}.map((one) => '<label><input type="radio" name="plan" id="p' + one + '" value="' + one + '"' + (state.plan === one ? ' checked' : '') + '> ' + one + '</label>').join(''),
            3: () => '<h2>Keep your recovery code</h2>' + input('code', 'Recovery code', 'text', 'readonly value="${code}"') + input('typed', 'Code again', 'text') };
          // Everything is recreated, as on pages that build themselves from strings; focus and selection are restored.
          function render() { clearTimeout(timer); if (held) { timer = setTimeout(render, 50); return; }
            const was = document.activeElement, had = was?.id, marked = was?.matches('input:not([type=radio])') ? [was.selectionStart, was.selectionEnd] : null;
            app.innerHTML = steps[state.step]() + '<button id="next">' + (state.step === 3 ? 'Finish' : 'Next') + '</button>';
            for (const key of ['secret', 'repeat', 'typed']) { const node = document.getElementById(key); if (node) { node.value = state[key]; node.oninput = () => { state[key] = node.value; later(); }; } }
            const again = document.getElementById('typed'); if (again) again.onpaste = () => { state.pasted += 1; };
            for (const node of document.querySelectorAll('[name=plan]')) node.onchange = () => { state.plan = node.value; later(); };
            document.getElementById('next').onclick = () => { if (state.step === 1 && (!state.secret || state.secret !== state.repeat) || state.step === 2 && !state.plan) return;
              if (state.step === 3) { clearTimeout(timer); report(state); app.textContent = 'Welcome'; return; } state.step += 1; render(); };
            if (had) { const node = document.getElementById(had); node?.focus(); if (marked) node?.setSelectionRange(...marked); } }
          const later = () => { clearTimeout(timer); timer = setTimeout(render, ${random.int(60, 250)}); };
          render(); timer = setTimeout(render, ${random.int(80, 500)});</script>`,
      },
      done: (said) => {
        const made = (said ?? {}) as { secret?: string; plan?: string; typed?: string; pasted?: number };
        return made.secret === secret && made.plan === plan && made.typed === code && made.pasted === 1;
      },
      async solve(hands) {
        const next = button('Next', '#next');
        await again(() => hands.fill(field('Password', '#secret'), secret));
        await again(() => hands.fill(field('Repeat password', '#repeat'), secret));
        await hands.until('Passwords match');
        await again(() => hands.click(next));
        await hands.until('Choose a plan');
        await again(() => hands.click({ role: 'radio', name: plan, css: `#p${plan}` }));
        await again(() => hands.click(next));
        await hands.until('Keep your recovery code');
        await again(() => hands.click(field('Recovery code', '#code')));
        await hands.key('ctrl+a');
        await hands.key('ctrl+c');
        await again(() => hands.click(field('Code again', '#typed')));
        await hands.key('ctrl+v');
        await again(() => hands.click(button('Finish', '#next')));
        await hands.until('Welcome');
      },
    };
  },
};

export const fieldTasks: readonly Task[] = [booking, shadowShop, paymentFrame, commandKeys, accountWizard];
