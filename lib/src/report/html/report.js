// Adds to the pages: sorting, searching, folding, and keys to go to the lines that did not run.
'use strict';

const by_id = id => document.getElementById(id);
const keys = new Map(); // key -> [its description in the help, the function]

// ---- Sortable tables ----

// Returns the value to sort a cell by; null for a cell without a value, which is always last.
function sort_key(row, cell, kind) {
  const text = row.cells[cell].textContent;
  if (kind === 'text')
    return text;
  if (kind === 'share') {
    const slash = text.indexOf('/');
    if (slash < 0)
      return null;
    const whole = Number(text.slice(slash + 1));
    return [Number(text.slice(0, slash)) / whole, -whole];
  }
  const exact = row.cells[cell].querySelector('span[title]');
  return text === '' ? null : Number(exact ? exact.title : text);
}

const collator = new Intl.Collator(undefined, {numeric: true});

function compare(a, b) {
  if (Array.isArray(a))
    return a[0] - b[0] || a[1] - b[1];
  return typeof a === 'string' ? collator.compare(a, b) : a - b;
}

// Returns the rows in order. Each cell is read once, and equal rows keep their order.
function in_order(rows, row_of, cell, kind, down) {
  const keyed = rows.map(each => ({each, key: sort_key(row_of(each), cell, kind)}));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null)
      return (a.key === null) - (b.key === null);
    return down ? compare(b.key, a.key) : compare(a.key, b.key);
  });
  return keyed.map(({each}) => each);
}

// Adds buttons to the heads of a table. `order` is the function that sorts its rows.
function make_sortable(table, order) {
  const heads = [...table.tHead.rows[0].cells];
  let at = -1;
  let down = false;
  const sort = (which, direction) => {
    at = which;
    down = direction;
    heads.forEach(head => head.removeAttribute('aria-sort'));
    heads[at].setAttribute('aria-sort', down ? 'descending' : 'ascending');
    order(heads[at].dataset.cell, heads[at].dataset.sort, down);
  };
  // Initially, names sort from A, shares from the lowest, and numbers from the largest.
  const first_direction = which => heads[which].dataset.sort === 'number';
  heads.forEach((head, which) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'sort';
    button.textContent = head.textContent;
    button.addEventListener('click',
      () => sort(which, which === at ? !down : first_direction(which)));
    head.replaceChildren(button);
  });
  return {
    next() {
      const which = (at + 1) % heads.length;
      sort(which, first_direction(which));
    },
    turn() {
      if (at >= 0)
        sort(at, !down);
    },
    again() {
      if (at >= 0)
        sort(at, down);
    },
  };
}

function make_plain_sortable(table) {
  return make_sortable(table, (cell, kind, down) => {
    const body = table.tBodies[0];
    body.append(...in_order([...body.rows], row => row, cell, kind, down));
  });
}

// ---- The index ----

function index_page() {
  const table = by_id('files');
  const search = by_id('search');
  const group = by_id('group');
  const groups = [...table.tBodies].map(body => {
    const [head, ...rows] = body.rows;
    return {body, head, rows, open: true, button: null};
  });
  const all = groups.flatMap(({rows}) => rows);
  const paths = new Map(all.map(row => [row, row.cells[0].textContent.toLowerCase()]));
  const found = new Set(all);
  const flat = document.createElement('tbody'); // contains all files if they are not grouped

  const show = () => {
    for (const {head, rows, open} of groups) {
      head.hidden = !group.checked || !rows.some(row => found.has(row));
      for (const row of rows)
        row.hidden = !found.has(row) || (group.checked && !open);
    }
    by_id('shown').value = found.size === all.length ? `${all.length} files`
                                                     : `${found.size} of ${all.length} files`;
    by_id('nothing').hidden = found.size > 0;
  };
  const sorting = make_sortable(table, (cell, kind, down) => {
    if (group.checked) {
      for (const each of groups)
        each.body.append(...in_order(each.rows, row => row, cell, kind, down));
      table.append(...in_order(groups, ({head}) => head, cell, kind, down).map(({body}) => body));
    } else {
      flat.append(...in_order(all, row => row, cell, kind, down));
    }
  });
  const regroup = () => {
    table.classList.toggle('by-folder', group.checked);
    if (group.checked) {
      for (const {body, head, rows} of groups)
        body.append(head, ...rows);
      flat.remove();
      table.append(...groups.map(({body}) => body));
    } else {
      for (const {body} of groups)
        body.remove();
      flat.append(...all);
      table.append(flat);
    }
    sorting.again();
    show();
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(word => word !== '');
    found.clear();
    for (const [row, path] of paths)
      if (words.every(word => path.includes(word)))
        found.add(row);
    show();
  };
  const fold = (each, open) => {
    each.open = open;
    each.button.setAttribute('aria-expanded', String(open));
  };
  for (const each of groups) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'fold';
    button.textContent = each.head.cells[0].textContent;
    button.addEventListener('click', () => {
      fold(each, !each.open);
      show();
    });
    each.head.cells[0].replaceChildren(button);
    each.button = button;
    fold(each, true);
  }
  const fold_all = () => {
    const open = !groups.some(each => each.open);
    for (const each of groups)
      fold(each, open);
    show();
  };

  search.form.addEventListener('submit', event => event.preventDefault());
  search.addEventListener('input', filter);
  search.addEventListener('keydown', event => {
    const first = event.key === 'Enter' && table.querySelector('tbody tr:not([hidden]) a');
    if (first) {
      first.click();
    } else if (event.key === 'Escape') {
      search.value = '';
      filter();
      search.blur();
    }
  });
  group.addEventListener('change', regroup);
  keys.set('/', ['search files', () => search.focus()]);
  keys.set('s', ['sort by the next column', sorting.next]);
  keys.set('S', ['reverse the order', sorting.turn]);
  keys.set('g', ['group by folder, or list all files', () => group.click()]);
  keys.set('c', ['close or open all folders', () => group.checked && fold_all()]);
  regroup();
  filter(); // a browser may have restored the text of the search field
  if (location.hash === '#search')
    search.focus();
}

// ---- A source ----

function source_page() {
  const gaps = [...document.querySelectorAll('#source tr.b')]; // first rows of the gaps
  const top_of = row => row.getBoundingClientRect().top;
  let at = -1; // index of the current gap, a range of lines that did not run
  // Returns the first gap at or below a height, by binary search, because the rows are in order.
  const first_below = height => {
    let low = 0;
    let high = gaps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (top_of(gaps[middle]) < height)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const in_sight = row => top_of(row) >= 0 && top_of(row) < innerHeight;
  const go = direction => {
    if (gaps.length === 0)
      return;
    if (at >= 0 && in_sight(gaps[at]))
      at += direction;
    else
      at = direction > 0 ? first_below(0) : first_below(0) - 1;
    at = (at + gaps.length) % gaps.length;
    location.replace('#' + gaps[at].id); // adds no entries to the history
    gaps[at].querySelector('a').focus({preventScroll: true});
    by_id('at').value = `${at + 1}/${gaps.length}`;
  };
  if (gaps.length > 0) {
    by_id('next').addEventListener('click', () => go(1));
    by_id('previous').addEventListener('click', () => go(-1));
    by_id('at').value = `${gaps.length} in total`;
  }
  keys.set('n', ['next lines that did not run', () => go(1)]);
  keys.set('p', ['previous lines that did not run', () => go(-1)]);
  keys.set('u', ['all files', () => by_id('up').click()]);
  keys.set('/', ['search files', () => location.assign(by_id('up').href + '#search')]);

  const functions = by_id('functions');
  if (functions) {
    const sorting = make_plain_sortable(functions);
    const opened = then => () => {
      functions.parentElement.open = true;
      then();
    };
    keys.set('f', ['functions', () => functions.parentElement.toggleAttribute('open')]);
    keys.set('s', ['sort functions by the next column', opened(sorting.next)]);
    keys.set('S', ['reverse the order', opened(sorting.turn)]);
  }
  // Only one box is open at a time, and a click elsewhere closes it.
  const boxes = document.querySelectorAll('#source details');
  const close_others = kept => {
    for (const box of document.querySelectorAll('#source details[open]'))
      if (box !== kept)
        box.open = false;
  };
  if (boxes.length > 0)
    document.addEventListener('click', event => close_others(event.target.closest('details')));
  keys.set('Escape', ['close boxes', () => close_others(null)]);
}

// ---- Keys ----

function show_help() {
  let dialog = document.querySelector('dialog');
  if (!dialog) {
    dialog = document.createElement('dialog');
    const title = document.createElement('h2');
    title.textContent = 'Keys';
    const list = document.createElement('dl');
    for (const [key, [text]] of keys) {
      const term = document.createElement('dt');
      const name = document.createElement('kbd');
      const meaning = document.createElement('dd');
      name.textContent = key;
      meaning.textContent = text;
      term.append(name);
      list.append(term, meaning);
    }
    const form = document.createElement('form');
    const close = document.createElement('button');
    form.method = 'dialog';
    close.textContent = 'Close';
    form.append(close);
    dialog.append(title, list, form);
    document.body.append(dialog);
  }
  if (!dialog.open)
    dialog.showModal();
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented ||
      event.target.closest('input[type="search"], dialog'))
    return;
  const bound = keys.get(event.key);
  if (!bound)
    return;
  event.preventDefault();
  bound[1]();
});

for (const controls of document.querySelectorAll('.controls'))
  controls.hidden = false;
if (by_id('files'))
  index_page();
if (by_id('tests'))
  make_plain_sortable(by_id('tests'));
if (by_id('source'))
  source_page();
keys.set('?', ['this help', show_help]);
if (by_id('help'))
  by_id('help').addEventListener('click', show_help);
