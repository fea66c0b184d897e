/** Ten tasks, written only from the toolset's members. Each page reports what was done on it; nothing here knows the executor. */
import type { Thing } from './hands.ts';
import type { Task } from './task.ts';

const button = (name: string, css: string): Thing => ({ role: 'button', name, css });
const field = (name: string, css: string): Thing => ({ role: 'textbox', name, css });

const formOfPages: Task = {
  name: 'form-of-pages',
  site: (random) => {
    const [name, city, colour] = [random.word(), random.word(), random.pick(['red', 'green', 'blue'])];
    const size = random.pick(['small', 'medium', 'large']);
    const age = random.int(18, 90);
    const keep = `for (const [k, v] of new URLSearchParams(location.search)) {
      const i = document.createElement('input'); i.type = 'hidden'; i.name = k; i.value = v; document.querySelector('form').append(i); }`;
    return {
      pages: {
        '/': `<h1>One of three</h1><form action="/two"><label>Name <input name="name" id="name" required></label>
          <label>Age <input name="age" id="age" type="number" min="18"></label><button>Next</button></form>`,
        '/two': `<h1>Two of three</h1><form action="/three"><label>City <input name="city" id="city"></label>
          <fieldset><legend>Colour</legend>${['red', 'green', 'blue']
            .map((one) => `<label><input type="radio" name="colour" value="${one}" id="${one}"> ${one}</label>`)
            .join('')}</fieldset><button>Next</button></form><script>${keep}</script>`,
        '/three': `<h1>Three of three</h1><form id="last"><label>Size <select name="size" id="size"><option>small</option><option>medium</option><option>large</option></select></label>
          <label><input type="checkbox" name="terms" id="terms"> I agree</label><button>Send</button></form><p id="end"></p>
          <script>${keep} document.querySelector('#last').onsubmit = (event) => { event.preventDefault();
          report(Object.fromEntries(new FormData(event.target))); document.querySelector('#end').textContent = 'Sent'; };</script>`,
      },
      done: (said) =>
        JSON.stringify(Object.entries((said ?? {}) as object).sort()) ===
        JSON.stringify(Object.entries({ age: String(age), city, colour, name, size, terms: 'on' }).sort()),
      async solve(hands) {
        await hands.fill(field('Name', '#name'), name);
        await hands.fill({ role: 'spinbutton', name: 'Age', css: '#age' }, String(age));
        await hands.click(button('Next', 'button'));
        await hands.until('Two of three');
        await hands.fill(field('City', '#city'), city);
        await hands.click({ role: 'radio', name: colour, css: `#${colour}` });
        await hands.click(button('Next', 'button'));
        await hands.until('Three of three');
        const select = { role: 'combobox', name: 'Size', css: '#size' };
        if (hands.way === 'reference') await hands.fill(select, size);
        else {
          // The list of a select is drawn by the browser itself: the keys choose.
          await hands.click({ role: 'checkbox', name: 'I agree', css: '#terms' });
          await hands.key('shift+Tab');
          await hands.type(size);
        }
        if (hands.way === 'reference') await hands.click({ role: 'checkbox', name: 'I agree', css: '#terms' });
        await hands.click(button('Send', 'button'));
        await hands.until('Sent');
      },
    };
  },
};

const dragToBox: Task = {
  name: 'drag-to-box',
  site: (random) => {
    const words = Array.from({ length: 5 }, () => random.word());
    const wanted = random.int(0, 5);
    return {
      pages: {
        '/': `<style>.piece{display:inline-block;padding:12px;border:1px solid;margin:6px;user-select:none;position:relative}
          #box{width:300px;height:140px;border:2px dashed;margin-top:${random.int(20, 200)}px}</style>
          ${words.map((word, at) => `<div class="piece" id="p${at}">${word}</div>`).join('')}<div id="box">Here</div>
          <script>let held = null; const box = document.querySelector('#box');
          for (const piece of document.querySelectorAll('.piece')) piece.onpointerdown = (e) => { held = { piece, x: e.clientX, y: e.clientY, moves: 0 }; e.preventDefault(); };
          onpointermove = (e) => { if (held) { held.moves += 1; held.piece.style.left = e.clientX - held.x + 'px'; held.piece.style.top = e.clientY - held.y + 'px'; } };
          onpointerup = (e) => { if (!held) return; const b = box.getBoundingClientRect();
            report({ word: held.piece.textContent, moved: held.moves > 1, inside: e.clientX > b.left && e.clientX < b.right && e.clientY > b.top && e.clientY < b.bottom }); held = null; };</script>`,
      },
      done: (said) => {
        const { word, inside, moved } = (said ?? {}) as { word?: string; inside?: boolean; moved?: boolean };
        return word === words[wanted] && inside === true && moved === true;
      },
      solve: (hands) =>
        hands.drag(
          { role: 'generic', name: words[wanted]!, css: `#p${wanted}` },
          { role: 'generic', name: 'Here', css: '#box' },
        ),
    };
  },
};

const autocomplete: Task = {
  name: 'autocomplete',
  site: (random) => {
    const stem = random.word();
    const towns = random.shuffle(['ville', 'burg', 'stadt', 'ford', 'mouth'].map((end) => stem + end));
    const wanted = random.pick(towns);
    const late = random.int(20, 250);
    return {
      pages: {
        '/': `<label>Town <input id="town" role="combobox" aria-expanded="false" autocomplete="off"></label><ul id="list" role="listbox"></ul>
          <script>const towns = ${JSON.stringify(towns)}; const input = document.querySelector('#town'); const list = document.querySelector('#list');
          input.oninput = () => { const now = input.value; list.replaceChildren(); if (now.length < 3) return;
            setTimeout(() => { if (input.value !== now) return; list.replaceChildren(...towns.filter((t) => t.startsWith(now)).map((t) => { const li = document.createElement('li');
              li.role = 'option'; li.textContent = t; li.id = 'o-' + t; li.onmousedown = (e) => { e.preventDefault(); input.value = t; list.replaceChildren(); report(t); }; return li; })); }, ${late}); };</script>`,
      },
      done: (said) => said === wanted,
      async solve(hands) {
        await hands.click({ role: 'combobox', name: 'Town', css: '#town' });
        await hands.type(stem);
        await hands.until(wanted);
        await hands.click({ role: 'option', name: wanted, css: `#o-${wanted}` });
      },
    };
  },
};

const frames: Task = {
  name: 'frames',
  site: (random) => {
    const labels = random.shuffle(['Left', 'Right', 'Middle']);
    const wanted = random.pick(labels);
    const inner = labels
      .map((label) => `<button id="${label}" onclick="parent.parent.postMessage('${label}','*')">${label}</button>`)
      .join(' ');
    return {
      pages: {
        '/': `<h1>Outside</h1><p style="height:${random.int(0, 120)}px"></p><iframe id="outer" src="/outer" width="600" height="300"></iframe>
          <script>onmessage = (e) => report(e.data);</script>`,
        '/outer': '<p>Between</p><iframe id="inner" src="/inner" width="400" height="160"></iframe>',
        '/inner': inner,
      },
      done: (said) => said === wanted,
      solve: (hands) => hands.click(button(wanted, `#outer >> #inner >> #${wanted}`)),
    };
  },
};

const coveredButton: Task = {
  name: 'covered-button',
  site: (random) => {
    const side = random.pick(['left', 'right']);
    const cover = random.int(55, 80);
    return {
      pages: {
        '/': `<style>#wrap{position:relative;width:300px;height:80px;margin-top:${random.int(0, 200)}px}#go{width:300px;height:80px}
          #cover{position:absolute;top:0;${side}:0;width:${cover}%;height:100%;background:#eee}</style>
          <div id="wrap"><button id="go" onclick="report('go')">Order</button><div id="cover" onclick="report('cover')">News</div></div>`,
      },
      done: (said) => said === 'go',
      solve: (hands) => hands.click(button('Order', '#go')),
    };
  },
};

const upload: Task = {
  name: 'upload',
  site: (random) => {
    const note = random.word();
    return {
      pages: {
        '/': `<label>Note <input id="note"></label><label>Paper <input type="file" id="paper"></label><button id="send">Send</button>
          <script>document.querySelector('#send').onclick = async () => { const [file] = document.querySelector('#paper').files;
          report({ note: document.querySelector('#note').value, text: file ? await file.text() : null }); };</script>`,
      },
      done: (said) => {
        const { note: wrote, text } = (said ?? {}) as { note?: string; text?: string };
        return wrote === note && text?.startsWith('file of upload') === true;
      },
      async solve(hands, { file }) {
        await hands.fill(field('Note', '#note'), note);
        // There is no other way: the dialog of the computer is no part of the page.
        const ref = await hands.ref({ role: 'button', name: 'Paper', css: '#paper' });
        await hands.call('file_upload', { target: { type: 'ref', ref }, paths: [file] });
        await hands.click(button('Send', '#send'));
      },
    };
  },
};

const unicode: Task = {
  name: 'unicode',
  site: (random) => {
    const text = [
      random.pick(['Grüße aus Köln, 5 €', 'Ærøskøbing – naïve façade', 'žluťoučký kůň']),
      random.pick(['日本語のテキスト', '한국어 문장', '中文，標點。']),
      random.pick(['👩‍🚀 🎉 👍🏽', 'שלום', 'مرحبا بالعالم']),
      `"quotes" & <tags> {x}! \\ ${random.word()}`,
    ].join('\n');
    return {
      pages: {
        '/': `<label>Words <textarea id="words" rows="6" cols="60"></textarea></label><button id="send">Send</button>
          <script>document.querySelector('#send').onclick = () => report(document.querySelector('#words').value);</script>`,
      },
      done: (said) => said === text,
      async solve(hands) {
        await hands.click(field('Words', '#words'));
        await hands.type(text);
        await hands.click(button('Send', '#send'));
      },
    };
  },
};

const dialogs: Task = {
  name: 'dialogs',
  site: (random) => {
    const code = random.word();
    return {
      pages: {
        '/': `<button id="first">First</button><button id="second" disabled>Second</button><p id="code"></p><label>Code <input id="in"></label>
          <script>document.querySelector('#first').onclick = () => { alert('Read this: ${code}'); document.querySelector('#second').disabled = false;
            document.querySelector('#code').textContent = 'Now the second'; };
          document.querySelector('#second').onclick = () => { alert('And this'); report('both'); };</script>`,
      },
      done: (said) => said === 'both',
      async solve(hands) {
        await hands.click(button('First', '#first'));
        await hands.until('Now the second');
        await hands.click(button('Second', '#second'));
      },
    };
  },
};

const tabs: Task = {
  name: 'tabs',
  site: (random) => {
    const code = random.word();
    return {
      pages: {
        '/': `<h1>Desk</h1><a href="/code" target="_blank" id="open">Open the code</a><label>Code <input id="code"></label><button id="send">Send</button>
          <script>document.querySelector('#send').onclick = () => report(document.querySelector('#code').value);</script>`,
        '/code': `<title>Code</title><h1>The code is ${code}</h1>`,
      },
      done: (said) => said === code,
      async solve(hands) {
        const desk = (await hands.call('list_tabs')).browser_state!.tabs.find((tab) => tab.active)!;
        await hands.click({ role: 'link', name: 'Open the code', css: '#open' });
        let other: string | undefined;
        for (let tried = 0; other === undefined && tried < 40; tried += 1) {
          const all = (await hands.call('list_tabs')).browser_state!.tabs;
          other = all.find((tab) => tab.url.endsWith('/code'))?.tab_id;
          if (other === undefined) await hands.call('wait', { duration: 0.05 });
        }
        await hands.call('switch_tab', { tab_id: other });
        const said = /The code is (\w+)/.exec(await hands.until('The code is'))![1]!;
        await hands.call('close_tab', { tab_id: other });
        await hands.call('switch_tab', { tab_id: desk.tab_id });
        await hands.fill(field('Code', '#code'), said);
        await hands.click(button('Send', '#send'));
      },
    };
  },
};

const longTable: Task = {
  name: 'long-table',
  site: (random) => {
    const rows = Array.from({ length: 400 }, (_, at) => `${random.word()}${at}`);
    const wanted = random.int(0, rows.length);
    return {
      pages: {
        '/': `<h1>All</h1><table>${rows
          .map(
            (row, at) =>
              `<tr><td>${row}</td><td><button id="b${at}" onclick="report('${row}')">Open ${row}</button></td></tr>`,
          )
          .join('')}</table>`,
      },
      done: (said) => said === rows[wanted],
      async solve(hands) {
        const open = button(`Open ${rows[wanted]}`, `#b${wanted}`);
        if (hands.way === 'coordinate') {
          await hands.reveal(open);
          await hands.click(open);
          return;
        }
        // A tree of the whole page would be cut off: search it.
        const found = await hands.call('find', { query: `Open ${rows[wanted]}` });
        const words = found.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
        const line = words.split('\n').find((one) => one.includes(`Open ${rows[wanted]}`) && /ref_\d+/.test(one))!;
        await hands.call('left_click', { target: { type: 'ref', ref: /ref_\d+/.exec(line)![0] } });
      },
    };
  },
};

export const firstTasks: readonly Task[] = [
  formOfPages,
  dragToBox,
  autocomplete,
  frames,
  coveredButton,
  upload,
  unicode,
  dialogs,
  tabs,
  longTable,
];
