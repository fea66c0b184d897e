/** Five pointer tasks: menus, moving targets, covered targets, scrolling, a canvas. Written only from the toolset's members. */
import type { Hands, Thing } from './hands.ts';
import type { Task } from './task.ts';

const button = (name: string, css: string): Thing => ({ role: 'button', name, css });

/** Nobody aims at what still moves: by coordinate it is looked at until it stands still. */
async function clickAtRest(hands: Hands, thing: Thing): Promise<void> {
  if (hands.way === 'reference') return hands.click(thing);
  let before = await hands.spot(thing);
  for (;;) {
    await hands.call('wait', { duration: 0.1 });
    const now = await hands.spot(thing);
    if (now.x === before.x && now.y === before.y) break;
    before = now;
  }
  await hands.call('left_click', { target: { type: 'coordinate', ...before } });
}

const hoverMenu: Task = {
  name: 'hover-menu',
  site: (random) => {
    const menu = Array.from({ length: 4 }, () => ({
      name: random.word(),
      below: Array.from({ length: random.int(2, 5) }, () => ({
        name: random.word(),
        below: Array.from({ length: random.int(2, 6) }, () => random.word()),
      })),
    }));
    const first = random.pick(menu);
    const second = random.pick(first.below);
    const third = random.pick(second.below);
    return {
      pages: {
        '/': `<style>nav ul{list-style:none;margin:0;padding:0;background:#fff}nav>ul{display:flex;gap:2px;margin-left:${random.int(0, 200)}px}nav li{position:relative}
          nav a{display:block;padding:8px 16px;width:110px;background:#eee;color:#000;text-decoration:none}nav ul ul{display:none;position:absolute;top:100%;left:0;z-index:2;box-shadow:0 4px 16px #0003}
          nav ul ul ul{top:0;left:100%}nav li.open>ul{display:block}</style><nav aria-label="Main"><ul id="top" role="menubar"></ul></nav><h1>Welcome</h1><p>Have a look around.</p><script>
          const build = (list, items, path) => { for (const item of items) { const name = item.name ?? item, li = document.createElement('li'), a = document.createElement('a');
            li.role = 'none'; a.role = 'menuitem'; a.href = '#'; a.textContent = name; a.id = 'm-' + [...path, name].join('-'); li.append(a); list.append(li);
            if (item.below) { a.setAttribute('aria-haspopup', 'true'); const ul = document.createElement('ul'); ul.role = 'menu'; ul.setAttribute('aria-label', name); build(ul, item.below, [...path, name]); li.append(ul); let timer;
              li.onmouseenter = () => { clearTimeout(timer); timer = setTimeout(() => li.classList.add('open'), 100); };
              li.onmouseleave = () => { clearTimeout(timer); timer = setTimeout(() => li.classList.remove('open'), 200); }; }
            a.onclick = (event) => { event.preventDefault(); if (!item.below) report([...path, name]); }; } };
          build(document.querySelector('#top'), ${JSON.stringify(menu)}, []);</script>`,
      },
      done: (said) => JSON.stringify(said) === JSON.stringify([first.name, second.name, third]),
      async solve(hands) {
        const item = (...path: string[]) => ({ role: 'menuitem', name: path.at(-1)!, css: `#m-${path.join('-')}` });
        await hands.hover(item(first.name));
        await hands.hover(item(first.name, second.name));
        await hands.click(item(first.name, second.name, third));
      },
    };
  },
};

const renameFile: Task = {
  name: 'rename-file',
  site: (random) => {
    const folders = Array.from({ length: 4 }, () => random.word());
    const files = Array.from({ length: 5 }, () => `${random.word()}.txt`);
    const [folder, file] = [random.pick(folders), random.pick(files)];
    const name = `${random.word()} – ${random.pick(['año', 'été', 'größe'])} (2).txt`;
    const entries = random.shuffle(['Open', 'Rename', 'Duplicate', 'Delete']);
    return {
      pages: {
        '/': `<style>#files{padding:0;border:1px solid #ccc}#files li{list-style:none;padding:6px 12px;user-select:none}#files li.on{background:#cde}[contenteditable]{user-select:text;background:#fff;outline:1px solid #36c}
          #menu{position:fixed;margin:0;padding:4px;background:#fff;border:1px solid #888;list-style:none}#menu li{padding:4px 24px}</style><h1 id="where">Files</h1><ul id="files" role="listbox" aria-label="Files"></ul>
          <ul id="menu" role="menu" hidden></ul><script>
          const list = document.querySelector('#files'), menu = document.querySelector('#menu'); let gone = [];
          const show = (names, inside) => list.replaceChildren(...names.map((name) => { const li = document.createElement('li'); li.role = 'option'; li.tabIndex = 0; li.innerHTML = '<span></span>'; li.dataset.name = name; li.firstChild.textContent = name;
            li.onclick = () => { for (const one of list.children) one.classList.toggle('on', one === li); };
            if (!inside) li.ondblclick = () => setTimeout(() => { document.querySelector('#where').textContent = 'In ' + name; show(${JSON.stringify(files)}, name); }, ${random.int(20, 300)});
            li.oncontextmenu = (event) => { event.preventDefault(); menu.hidden = false; menu.style.left = event.clientX + 'px'; menu.style.top = event.clientY + 'px';
              menu.replaceChildren(...${JSON.stringify(entries)}.map((what) => { const entry = document.createElement('li'); entry.role = 'menuitem'; entry.tabIndex = -1; entry.id = 'do-' + what; entry.textContent = what;
                entry.onclick = () => { menu.hidden = true; if (what === 'Rename') rename(li, inside); else gone.push(what); }; return entry; })); };
            return li; }));
          onpointerdown = (event) => { if (!menu.contains(event.target)) menu.hidden = true; };
          const rename = (li, inside) => { const span = li.firstChild; span.contentEditable = 'true'; span.focus(); getSelection().selectAllChildren(span); let over = false;
            const end = (keep) => { if (over) return; over = true; span.removeAttribute('contenteditable'); if (!keep) { span.textContent = li.dataset.name; return; }
              report({ folder: inside, from: li.dataset.name, to: span.textContent, gone }); };
            span.onblur = () => end(false); span.onkeydown = (event) => { if (event.key === 'Enter') { event.preventDefault(); end(true); } if (event.key === 'Escape') end(false); }; };
          show(${JSON.stringify(folders)}, null);</script>`,
      },
      done: (said) => {
        const did = (said ?? {}) as { folder?: string; from?: string; to?: string; gone?: string[] };
        return did.folder === folder && did.from === file && did.to === name && did.gone?.length === 0;
      },
      async solve(hands) {
        const row = (of: string) => ({ role: 'option', name: of, css: `[data-name="${of}"]` });
        await hands.click(row(folder), 'double_click');
        await hands.until(`In ${folder}`);
        await hands.click(row(file), 'right_click');
        await hands.click({ role: 'menuitem', name: 'Rename', css: '#do-Rename' });
        await hands.type(name);
        await hands.key('Return');
      },
    };
  },
};

const endlessFeed: Task = {
  name: 'endless-feed',
  site: (random) => {
    const posts = Array.from({ length: 60 }, () => ({ name: random.word(), height: random.int(60, 260) }));
    const [far, near] = [random.int(22, 58), random.int(1, 8)];
    return {
      pages: {
        '/': `<style>body{margin:0}header{position:sticky;top:0;display:flex;background:#fff;border-bottom:1px solid #ccc;z-index:1}header button{flex:1;height:${random.int(60, 140)}px}
          main{margin:0 24px}article{border-bottom:1px solid #ddd}</style><header><button onclick="out += 1">Home</button><button onclick="out += 1">Messages</button><button onclick="out += 1">Sign out</button></header>
          <main id="feed"></main><p id="more">Loading more…</p><script>
          const posts = ${JSON.stringify(posts)}; let shown = 0, out = 0, busy = false; const liked = [];
          const add = () => { for (const post of posts.slice(shown, shown + 8)) { const one = document.createElement('article'); one.innerHTML = '<h3></h3><p style="height:' + post.height + 'px"></p><button></button>';
            one.querySelector('h3').textContent = 'Post of ' + post.name; const like = one.querySelector('button'); like.id = 'like-' + post.name; like.textContent = 'Like ' + post.name;
            like.onclick = () => { liked.push(post.name); like.textContent = 'Liked'; report({ liked, out }); }; feed.append(one); }
            shown = Math.min(posts.length, shown + 8); busy = false; if (shown === posts.length) more.textContent = 'That was all.'; };
          add(); const watch = new IntersectionObserver(() => { if (busy || shown === posts.length || more.getBoundingClientRect().top > innerHeight + 200) return; busy = true; setTimeout(() => { add(); watch.unobserve(more); watch.observe(more); }, ${random.int(30, 300)}); }, { rootMargin: '200px' });
          watch.observe(more);</script>`,
      },
      done: (said) => {
        const { liked, out } = (said ?? {}) as { liked?: string[]; out?: number };
        return JSON.stringify(liked) === JSON.stringify([posts[far]!.name, posts[near]!.name]) && out === 0;
      },
      async solve(hands) {
        const like = ({ name }: { name: string }) => button(`Like ${name}`, `#like-${name}`);
        const target = { type: 'coordinate', x: 450, y: 400 };
        for (let turned = 0; turned < 60; turned += 1) {
          if ((await hands.text()).includes(`Post of ${posts[far]!.name}`)) break;
          await hands.call('scroll', { target, scroll_direction: 'down', scroll_amount: 10 });
        }
        await hands.click(like(posts[far]!));
        // Far above now: coming from below, it ends under the header unless one looks.
        await hands.click(like(posts[near]!));
      },
    };
  },
};

const cookieWall: Task = {
  name: 'cookie-wall',
  site: (random) => {
    const item = random.word();
    const choices = random.shuffle(['Accept all', 'Reject all', 'Settings']);
    return {
      pages: {
        '/': `<style>#promo{overflow:hidden;background:#fe9;transition:height .5s;height:${random.int(60, 200)}px}#wall{position:fixed;inset:0;background:#0008;opacity:0;transition:opacity .4s;z-index:9}
          #dialog{position:absolute;left:${random.int(40, 300)}px;top:-260px;width:460px;padding:24px;background:#fff;transition:top .7s}#wall.in{opacity:1}#wall.in #dialog{top:${random.int(60, 240)}px}</style>
          <div id="promo">Only today!</div><h1>${item}</h1><p>A very good one.</p><p id="slot">Checking what is left…</p><p id="end"></p>
          <script>let missed = 0, cookies = null;
          setTimeout(() => { const wall = document.createElement('div'); wall.id = 'wall'; wall.innerHTML = '<div id="dialog" role="dialog" aria-modal="true" aria-label="Cookies"><h2>We value your privacy</h2>${choices
            .map((choice) => `<button id="${choice.split(' ')[0]}">${choice}</button> `)
            .join(
              '',
            )}</div>'; document.body.append(wall); requestAnimationFrame(() => requestAnimationFrame(() => wall.classList.add('in')));
            wall.onclick = (event) => { if (event.target.tagName !== 'BUTTON') { missed += 1; return; } cookies ??= event.target.textContent; wall.classList.remove('in'); setTimeout(() => { wall.remove(); promo.style.height = '0'; }, 500); };
          }, ${random.int(50, 500)});
          setTimeout(() => { slot.innerHTML = '<button id="order">Order ${item}</button>'; order.onclick = () => { end.textContent = 'Ordered'; report({ cookies, missed, item: '${item}' }); }; }, ${random.int(100, 2500)});</script>`,
      },
      done: (said) => {
        const did = (said ?? {}) as { cookies?: string; missed?: number; item?: string };
        return did.cookies === 'Reject all' && did.missed === 0 && did.item === item;
      },
      async solve(hands) {
        await hands.until('We value your privacy');
        await clickAtRest(hands, button('Reject all', '#Reject'));
        await hands.until('Order');
        await clickAtRest(hands, button(`Order ${item}`, '#order'));
        await hands.until('Ordered');
      },
    };
  },
};

const patternLock: Task = {
  name: 'pattern-lock',
  site: (random) => {
    // From dot to neighbouring dot, none twice.
    const path = [random.int(0, 9)];
    for (;;) {
      const [x, y] = [path.at(-1)! % 3, Math.floor(path.at(-1)! / 3)];
      const free = Array.from({ length: 9 }, (_, dot) => dot).filter(
        (dot) => !path.includes(dot) && Math.abs((dot % 3) - x) <= 1 && Math.abs(Math.floor(dot / 3) - y) <= 1,
      );
      if (path.length === 6 || free.length === 0) break;
      path.push(random.pick(free));
    }
    return {
      pages: {
        '/': `<h1>Draw your pattern</h1><p style="height:${random.int(0, 500)}px">From dot to dot, without lifting.</p><canvas id="pad" width="300" height="300" aria-label="Pattern" style="touch-action:none;border:1px solid #ccc;margin-left:${random.int(0, 300)}px"></canvas><p id="end" style="height:400px"></p><script>
          const pad = document.querySelector('#pad'), pen = pad.getContext('2d'); let path = null, moves = 0;
          const draw = (at) => { pen.clearRect(0, 0, 300, 300); for (let dot = 0; dot < 9; dot += 1) { pen.beginPath(); pen.arc(50 + (dot % 3) * 100, 50 + Math.floor(dot / 3) * 100, 10, 0, 7); pen.fill(); }
            if (!path) return; pen.lineWidth = 6; pen.beginPath(); for (const dot of path) pen.lineTo(50 + (dot % 3) * 100, 50 + Math.floor(dot / 3) * 100); if (at) pen.lineTo(at.offsetX, at.offsetY); pen.stroke(); };
          const touch = (event) => { const [x, y] = [Math.round((event.offsetX - 50) / 100), Math.round((event.offsetY - 50) / 100)], dot = y * 3 + x;
            if (Math.hypot(event.offsetX - 50 - x * 100, event.offsetY - 50 - y * 100) < 25 && x >= 0 && x < 3 && y >= 0 && y < 3 && !path.includes(dot)) path.push(dot); };
          pad.onpointerdown = (event) => { if (event.button !== 0) return; path = []; moves = 0; pad.setPointerCapture(event.pointerId); touch(event); draw(event); };
          pad.onpointermove = (event) => { if (!path || event.buttons !== 1) return; moves += 1; touch(event); draw(event); };
          pad.onpointerup = () => { if (!path) return; report({ path, moves }); end.textContent = 'Saved'; draw(); path = null; }; draw();</script>`,
      },
      done: (said) => {
        const { path: drew, moves } = (said ?? {}) as { path?: number[]; moves?: number };
        return JSON.stringify(drew) === JSON.stringify(path) && moves! >= path.length - 1;
      },
      async solve(hands) {
        // A canvas has no references for its drawing: both ways look at the picture.
        const pad = { role: 'img', name: 'Pattern', css: '#pad' };
        if ((await hands.spot(pad)).y > 600) {
          // It is not all in view.
          const target = { type: 'coordinate', x: 640, y: 400 };
          await hands.call('scroll', { target, scroll_direction: 'down', scroll_amount: 3 });
        }
        const { x, y } = await hands.spot(pad);
        const at = (dot: number) => ({
          target: { type: 'coordinate', x: x - 100 + (dot % 3) * 100, y: y - 100 + Math.floor(dot / 3) * 100 },
        });
        await hands.call('mouse_move', at(path[0]!));
        await hands.call('left_mouse_down', at(path[0]!));
        for (const dot of path.slice(1)) await hands.call('mouse_move', at(dot));
        await hands.call('left_mouse_up', at(path.at(-1)!));
        await hands.until('Saved');
      },
    };
  },
};

export const pointerTasks: readonly Task[] = [hoverMenu, renameFile, endlessFeed, cookieWall, patternLock];
