// SPDX-License-Identifier: Apache-2.0
#include "serving/service.h"

namespace fib::serving {

/// No script, style or image from elsewhere; what comes back is shown as text, never as markup.
const std::string& drop_page() {
  static const std::string page = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'; img-src blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>fib serve</title><style>
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1.5rem;color:#1c2330;background:#fff}
h1{font-size:1.4rem;margin:0 0 1rem}label.drop{display:block;border:2px dashed #8a94a6;border-radius:.75rem;padding:3rem 1rem;text-align:center;cursor:pointer}
label.drop.over,label.drop:focus-within{border-color:#2457d6;background:#eef3ff}input[type=file]{position:absolute;opacity:0;width:1px}
.bar{display:flex;gap:1rem;align-items:center;margin:0 0 1rem}select{font:inherit;padding:.2rem .4rem}
article{display:flex;gap:1rem;margin:1.25rem 0;align-items:flex-start}article img{width:9rem;height:9rem;object-fit:cover;border-radius:.5rem;background:#e8ebf0}
article>div{flex:1;min-width:0}h2{font-size:1rem;margin:0 0 .4rem;overflow-wrap:anywhere}ol{list-style:none;margin:0;padding:0}
li{display:grid;grid-template-columns:minmax(6rem,14rem) 1fr 4.5rem;gap:.6rem;align-items:center}li span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
li i{display:block;height:.6rem;background:#2457d6;border-radius:.3rem;min-width:2px}li b{text-align:right;font-weight:400;font-variant-numeric:tabular-nums}
.error{color:#a3262a}footer{margin-top:2rem;color:#5b6472;font-size:.9rem}
@media(prefers-color-scheme:dark){body{color:#e6e9ef;background:#14171c}label.drop.over,label.drop:focus-within{background:#1c2740}article img{background:#252a33}.error{color:#ff8f8f}footer{color:#9aa3b2}}
</style></head><body><h1>fib serve</h1>
<div class="bar"><label>Model <select id="model"></select></label><span id="input"></span></div>
<label class="drop" id="drop"><input type="file" id="files" multiple accept="image/jpeg,image/png,image/webp">Drop images here, or click to choose them</label>
<main id="results" aria-live="polite"></main>
<footer>POST /classify &middot; <a href="/models">/models</a> &middot; <a href="/metrics">/metrics</a> &middot; <a href="/health">/health</a></footer>
<script>
const by = id => document.getElementById(id), made = (tag, text) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; return e; };
let models = [];
const tell = () => { const m = models[by('model').selectedIndex]; by('input').textContent = m ? m.model + ', ' + m.attention + ' attention, ' + m.classes + ' classes, ' + m.input.resolution + ' pixels' : ''; };
fetch('/models').then(r => r.json()).then(list => { models = list; for (const m of list) by('model').append(made('option', m.name)); tell(); });
by('model').onchange = tell;
function show(file, answer) {
  const item = made('article'), img = made('img'), side = made('div');
  img.src = URL.createObjectURL(file); img.alt = '';
  side.append(made('h2', file.name));
  if (answer.error) { const e = made('p', answer.error); e.className = 'error'; side.append(e); }
  else { const list = made('ol');
    for (const c of answer.top) { const row = made('li'), bar = made('i'); bar.style.width = (100 * c.probability).toFixed(1) + '%';
      row.append(made('span', c.label ?? 'class ' + c.class), bar, made('b', (100 * c.probability).toFixed(2) + ' %')); list.append(row); }
    side.append(list); }
  item.append(img, side); by('results').prepend(item);
}
async function send(files) {
  for (const file of files) {
    let answer;
    try { const r = await fetch('/classify/' + encodeURIComponent(by('model').value), { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: file });
      const json = await r.json(); answer = Array.isArray(json) ? json[0] : json; }
    catch (e) { answer = { error: 'no answer: ' + e.message }; }
    show(file, answer);
  }
}
by('files').onchange = e => { send([...e.target.files]); e.target.value = ''; };
const drop = by('drop');
for (const kind of ['dragenter', 'dragover']) drop.addEventListener(kind, e => { e.preventDefault(); drop.classList.add('over'); });
for (const kind of ['dragleave', 'drop']) drop.addEventListener(kind, e => { e.preventDefault(); drop.classList.remove('over'); });
drop.addEventListener('drop', e => send([...e.dataTransfer.files]));
</script></body></html>
)";
  return page;
}

}  // namespace fib::serving
