// Makes the picture interactive: fits it to the window, zooms and searches.
'use strict';
(() => {
  const svg = document.currentScript.closest('svg');
  const by_id = id => svg.getElementById(id);
  const [row, head_height, rows] = svg.dataset.size.split(',').map(Number);
  const total = Number(svg.dataset.total);
  const margin = 10;
  const bar_height = 36;
  const top = head_height + bar_height;

  // ---- The frames, callers before callees, from left to right ----

  const frames = [...by_id('frames').children].map(group => {
    const [begin, value, depth] = group.dataset.f.split(',').map(Number);
    const [title, rect] = group.children;
    const lines = title.textContent.split('\n');
    return {group, rect, text: group.querySelector('text'), cut: group.querySelector('.cut'),
            name: lines[0], own: group.dataset.own || lines[0], about: lines.join('  \u00b7  '), begin, value, depth, end: begin + value,
            shown: true};
  });
  const frame_of = new Map(frames.map(frame => [frame.group, frame]));
  const root = frames[0];
  let zoomed = root;
  let focused = root;
  let root_on_top = false;
  let width = 0;

  const make = (name, attributes, parent) => {
    const xml = {foreignObject: 'http://www.w3.org/2000/svg', text: 'http://www.w3.org/2000/svg'};
    const element = document.createElementNS(xml[name] || 'http://www.w3.org/1999/xhtml', name);
    for (const [key, value] of Object.entries(attributes))
      element.setAttribute(key, value);
    parent.append(element);
    return element;
  };

  // The width of a character in the browser's font. The probe has the widest letter.
  const character = (() => {
    const probe = make('text', {}, svg);
    probe.textContent = 'm'.repeat(100);
    const length = probe.getComputedTextLength() / 100;
    probe.remove();
    return length || 7.25;
  })();

  // Returns the whole name if it fits, otherwise the beginning of the name without scopes, or "" if
  // there is room for less than three characters.
  function fitting(frame, room) {
    const whole = beginning(frame.name, room);
    return whole === frame.name ? whole : beginning(frame.own, room);
  }

  function beginning(name, room) {
    const columns = Math.floor((room - 6) / character);
    if (columns < 3)
      return '';
    const letters = [...name];
    let used = 0;
    let kept = 0; // letters that fit beside an ellipsis
    for (const letter of letters) {
      used += letter.codePointAt(0) > 0x7ff ? 2 : 1; // the letter may be a wide one
      if (used > columns)
        return letters.slice(0, kept).join('') + '\u2026';
      if (used < columns)
        ++kept;
    }
    return name;
  }

  function place(frame, x, room) {
    const y = top + (root_on_top ? frame.depth : rows - frame.depth) * row;
    const gap = room > 3 ? 1 : 0;
    frame.rect.setAttribute('x', x);
    frame.rect.setAttribute('y', y);
    frame.rect.setAttribute('width', Math.max(room - gap, 0.5));
    const name = fitting(frame, room);
    if (name !== '' || frame.text) {
      if (!frame.text)
        frame.text = make('text', {}, frame.group);
      frame.text.setAttribute('x', x + 3);
      frame.text.setAttribute('y', y + 13);
      frame.text.textContent = name;
    }
    if (frame.cut)
      frame.cut.setAttribute('d', `M${x} ${root_on_top ? y + row - 1 : y}h${Math.max(room - gap, 0.5)}`);
  }

  function draw() {
    const scale = (width - 2 * margin) / zoomed.value;
    for (const frame of frames) {
      const above = frame.depth < zoomed.depth && frame.begin <= zoomed.begin &&
                    frame.end >= zoomed.end;
      const inside = frame.depth >= zoomed.depth && frame.begin >= zoomed.begin &&
                     frame.end <= zoomed.end;
      frame.shown = above || inside;
      frame.group.style.display = frame.shown ? '' : 'none';
      frame.group.classList.toggle('above', above);
      if (above)
        place(frame, margin, width - 2 * margin);
      else if (inside)
        place(frame, margin + (frame.begin - zoomed.begin) * scale, frame.value * scale);
    }
    reset.disabled = zoomed === root;
  }

  // Places the legend's entries from `y` on and returns the height of the legend.
  function draw_legend(y) {
    let x = margin;
    let line = 0;
    for (const entry of by_id('legend').children) {
      const room = 30 + [...entry.querySelector('text').textContent].length * character;
      if (x > margin && x + room > width - margin) {
        x = margin;
        ++line;
      }
      entry.setAttribute('transform', `translate(${x} ${y + line * 20})`);
      x += room;
    }
    return (line + 1) * 20;
  }

  function resize() {
    width = Math.max(window.innerWidth, 320);
    for (let pass = 0; pass < 2; ++pass) {
      const below = top + (rows + 1) * row + 12;
      const height = below + draw_legend(below) + margin;
      svg.setAttribute('width', width);
      svg.setAttribute('height', height);
      svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
      // A scroll bar reduces the width. Not every browser reports the reduced width for an SVG.
      const room = document.documentElement.clientWidth;
      if (height <= window.innerHeight || room <= 0 || room >= width)
        break;
      width = Math.max(room, 320);
    }
    by_id('head').firstElementChild.setAttribute('height', top);
    controls.setAttribute('width', width - 2 * margin);
    draw();
  }

  // ---- Zoom ----

  function say(frame) {
    status.textContent = frame ? frame.about : '';
    status.title = status.textContent;
  }

  function zoom(frame) {
    zoomed = frame;
    draw();
    focus(frame);
  }

  function focus(frame) {
    focused.group.setAttribute('tabindex', '-1');
    focused = frame;
    frame.group.setAttribute('tabindex', '0');
    frame.group.focus({preventScroll: true});
    const box = frame.rect.getBoundingClientRect();
    const hidden = box.top < top ? box.top - top
                   : box.bottom > window.innerHeight ? box.bottom - window.innerHeight : 0;
    if (hidden !== 0)
      window.scrollBy(0, hidden);
    say(frame);
  }

  // Returns the frame that an arrow key selects: the widest callee, the caller, or a neighbour in the
  // row. Returns undefined if there is none.
  function neighbour(from, key) {
    const shown = frames.filter(frame => frame.shown);
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const in_row = shown.filter(frame => frame.depth === from.depth);
      return in_row[in_row.indexOf(from) + (key === 'ArrowLeft' ? -1 : 1)];
    }
    const outward = (key === 'ArrowDown') !== root_on_top;
    if (outward)
      return shown.find(frame => frame.depth === from.depth - 1 && frame.begin <= from.begin &&
                                 frame.end >= from.end);
    return shown.filter(frame => frame.depth === from.depth + 1 && frame.begin >= from.begin &&
                                 frame.end <= from.end)
                .reduce((best, frame) => (best && best.value >= frame.value ? best : frame), undefined);
  }

  // ---- Search ----

  function search() {
    const wanted = input.value;
    let pattern = null;
    input.removeAttribute('aria-invalid');
    matched.textContent = '';
    try {
      // As in many editors, the search is case-sensitive if the expression has a capital letter.
      pattern = wanted === '' ? null : new RegExp(wanted, /[A-Z]/.test(wanted) ? '' : 'i');
    } catch (error) {
      input.setAttribute('aria-invalid', 'true');
      matched.textContent = 'invalid regular expression';
    }
    let sum = 0;
    let end = 0; // the end of the counted range; frames inside of it are already in the sum
    for (const frame of frames) {
      const hit = pattern !== null && frame !== root &&
                  (pattern.test(frame.name) || pattern.test(frame.own));
      frame.group.classList.toggle('hit', hit);
      if (hit && frame.begin >= end) {
        sum += frame.value;
        end = frame.end;
      }
    }
    if (pattern)
      matched.textContent = `matched: ${(100 * sum / total).toFixed(2)}%`;
  }

  // ---- Controls ----

  const controls = make('foreignObject', {x: margin, y: head_height, width: 100,
                                          height: bar_height}, by_id('head'));
  const bar = make('div', {class: 'bar'}, controls);
  const input = make('input', {type: 'search', placeholder: 'Search (Ctrl-F)',
                               'aria-label': 'Search functions by a regular expression'}, bar);
  const button = (text, title, action) => {
    const made = make('button', {type: 'button', title}, bar);
    made.textContent = text;
    made.addEventListener('click', action);
    return made;
  };
  const turn = () => {
    root_on_top = !root_on_top;
    draw();
    window.scrollTo(0, root_on_top ? 0 : svg.getBoundingClientRect().height);
  };
  const reset = button('Reset zoom', 'Show all (Escape)', () => zoom(root));
  button('Turn over', 'Root at the top, or at the bottom (i)', turn);
  const matched = make('output', {class: 'matched', 'aria-live': 'polite'}, bar);
  const status = make('output', {}, bar);

  const group_of = event => event.target.closest('#frames > g');
  const board = by_id('frames');
  board.addEventListener('click', event => {
    const frame = frame_of.get(group_of(event));
    if (frame)
      zoom(frame);
  });
  board.addEventListener('pointerover', event => {
    const frame = frame_of.get(group_of(event));
    if (frame)
      say(frame);
  });
  board.addEventListener('pointerleave', () => say(zoomed === root ? null : zoomed));
  board.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey)
      return;
    if (event.key === 'Enter' || event.key === ' ') {
      zoom(focused);
    } else if (event.key.startsWith('Arrow')) {
      const next = neighbour(focused, event.key);
      if (next)
        focus(next);
    } else {
      return;
    }
    event.preventDefault();
  });
  input.addEventListener('input', search);
  document.addEventListener('keydown', event => {
    const typing = event.target === input;
    if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
      input.focus();
      input.select();
    } else if (event.key === 'Escape' && typing) {
      input.value = '';
      search();
      input.blur();
    } else if (event.key === 'Escape') {
      zoom(root);
    } else if (event.key === 'i' && !typing && !event.ctrlKey && !event.altKey && !event.metaKey) {
      turn();
    } else {
      return;
    }
    event.preventDefault();
  });
  // Keep the head visible while the page scrolls.
  const follow = () => {
    const y = Math.max(0, -svg.getBoundingClientRect().top);
    by_id('head').setAttribute('transform', `translate(0 ${y})`);
  };
  window.addEventListener('scroll', follow);
  window.addEventListener('resize', resize);

  root.group.setAttribute('tabindex', '0');
  for (const frame of frames.slice(1))
    frame.group.setAttribute('tabindex', '-1');
  resize();
  // A picture that is taller than the window opens with its root at the top. To scroll to a root at
  // the bottom does not help everywhere: a picture of the page by a headless browser is blank then.
  if (svg.getBoundingClientRect().height > window.innerHeight)
    turn();
  follow();
})();
