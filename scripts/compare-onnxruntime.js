// SPDX-License-Identifier: Apache-2.0
// The part of compare-onnxruntime.sh that ONNX Runtime's own language is needed for.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const {execFileSync} = require('child_process');

const ort = require(path.join(process.env.ORT, 'node_modules/onnxruntime-node'));
const {FIB: fib, WORK: work} = process.env;
const THREADS = 2;
const TOLERANCE = 1e-4;
const INT8_TOLERANCE = 0.2;  // of 1 - correlation
const OPTIONS = {executionProviders: ['cpu'], intraOpNumThreads: THREADS, interOpNumThreads: 1, logSeverityLevel: 3};

// ---- Arrays ---------------------------------------------------------------------------------------------------------

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const header = bytes.toString('latin1', 10, 10 + bytes.readUInt16LE(8));
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((n) => n.trim()).map(Number);
  if (!header.includes("'<f4'")) throw new Error(`${file} is not float32`);
  const start = 10 + bytes.readUInt16LE(8);
  return {shape, data: new Float32Array(bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length))};
}

function writeNpy(file, shape, data) {
  let header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  header = header.padEnd(Math.ceil((11 + header.length) / 64) * 64 - 11) + '\n';
  const prefix = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  fs.writeFileSync(file, Buffer.concat([prefix, Buffer.from(header, 'latin1'), Buffer.from(data.buffer)]));
}

/** Numbers of about N(0, 1), the same in every run. */
function normal(count, seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 4294967296;
  };
  return Float32Array.from({length: count}, () => uniform() + uniform() + uniform() + uniform() - 2).map((x) => x * 1.73);
}

function largestDifference(a, b) {
  if (a.length !== b.length) return Infinity;
  let worst = 0;
  for (let i = 0; i < a.length; ++i) worst = Math.max(worst, Math.abs(a[i] - b[i]));
  return Number.isNaN(worst) ? Infinity : worst;
}

function correlation(a, b) {
  const mean = (x) => x.reduce((sum, v) => sum + v, 0) / x.length;
  const ma = mean(a), mb = mean(b);
  let ab = 0, aa = 0, bb = 0;
  for (let i = 0; i < a.length; ++i) {
    ab += (a[i] - ma) * (b[i] - mb), aa += (a[i] - ma) ** 2, bb += (b[i] - mb) ** 2;
  }
  return ab / Math.sqrt(aa * bb);
}

// ---- Models ---------------------------------------------------------------------------------------------------------

/** timm's parameters of a vision transformer with patches of 16; Linformer learns two maps of tokens in each block. */
function vitParameters(dim, depth, linformer) {
  const list = [['cls_token', [1, 1, dim]], ['pos_embed', [1, 197, dim]], ['patch_embed.proj.weight', [dim, 3, 16, 16]],
                ['patch_embed.proj.bias', [dim]]];
  const linear = (name, to, from) => list.push([`${name}.weight`, [to, from]], [`${name}.bias`, [to]]);
  const norm = (name) => list.push([`${name}.weight`, [dim]], [`${name}.bias`, [dim]]);
  for (let i = 0; i < depth; ++i) {
    norm(`blocks.${i}.norm1`);
    linear(`blocks.${i}.attn.qkv`, 3 * dim, dim);
    linear(`blocks.${i}.attn.proj`, dim, dim);
    if (linformer) list.push(...['k', 'v'].map((x) => [`blocks.${i}.attn.mechanism.proj_${x}`, [4, 197]]));
    norm(`blocks.${i}.norm2`);
    linear(`blocks.${i}.mlp.fc1`, 4 * dim, dim);
    linear(`blocks.${i}.mlp.fc2`, dim, 4 * dim);
  }
  norm('norm');
  linear('head', 1000, dim);
  return list;
}

function writeRandomWeights(file, dim, depth, linformer = false) {
  const header = {};
  const parts = [];
  let offset = 0;
  for (const [name, shape] of vitParameters(dim, depth, linformer)) {
    const count = shape.reduce((a, b) => a * b, 1);
    const values = normal(count, offset + 1).map((x) => 0.02 * x + (/norm.*weight/.test(name) ? 1 : 0));
    header[name] = {dtype: 'F32', shape, data_offsets: [offset, offset += 4 * count]};
    parts.push(Buffer.from(values.buffer));
  }
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  fs.writeFileSync(file, Buffer.concat([size, text, ...parts]));
}

const VITS = {vit_tiny_patch16_224: [192, 12], vit_small_patch16_224: [384, 12], vit_base_patch16_224: [768, 12]};

function weightsOf(model) {
  if (model === 'vit_tiny_patch16_224' && process.env.FIB_VIT_WEIGHTS) return process.env.FIB_VIT_WEIGHTS;
  const file = path.join(work, `${model}.safetensors`);
  if (!VITS[model]) throw new Error(`random weights are made for ${Object.keys(VITS).join(', ')}, not ${model}`);
  if (!fs.existsSync(file)) writeRandomWeights(file, ...VITS[model]);
  return file;
}

const run = (...words) => execFileSync(fib, words, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 26});

async function logitsOf(file, images) {
  const session = await ort.InferenceSession.create(file, OPTIONS);
  const result = await session.run({images: new ort.Tensor('float32', images.data, images.shape)});
  await session.release();
  return result.logits.data;
}

// ---- Parity ---------------------------------------------------------------------------------------------------------

let failures = 0;
function report(name, difference, tolerance = TOLERANCE) {
  const good = difference <= tolerance;
  if (!good) ++failures;
  console.log(`${good ? 'ok  ' : 'FAIL'} ${name.padEnd(56)} ${difference.toExponential(1)}`);
}

async function minis() {
  const folder = path.join(work, 'minis');
  for (const file of fs.readdirSync(folder).filter((f) => f.endsWith('.onnx')).sort()) {
    const base = path.join(folder, file.slice(0, -'.onnx'.length));
    const logits = await logitsOf(`${base}.onnx`, readNpy(`${base}.images.npy`));
    report(path.basename(base), largestDifference(logits, readNpy(`${base}.logits.npy`).data));
  }
}

async function tinyOnnx(attention, form, weights, images, precision = 'f32') {
  const file = path.join(work, 'tiny.onnx'), out = path.join(work, 'tiny.npy');
  const subject = ['--model', 'vit_tiny_patch16_224', '--weights', weights, '--attention', attention];
  run('export', ...subject, '--precision', precision, ...(form ? ['--attention-as', form] : []), '-o', file, '--quiet');
  run('infer', ...subject, '--input', images, '--out', out, '--quiet');
  const name = `vit_tiny_patch16_224 ${attention} ${form || ''} ${precision === 'f32' ? '' : precision}`;
  const wanted = readNpy(out).data, got = await logitsOf(file, readNpy(images));
  // Bytes round much on noise; a layer that was quantized wrongly leaves nothing in common.
  precision === 'f32' ? report(name, largestDifference(got, wanted)) : report(name, 1 - correlation(got, wanted), INT8_TOLERANCE);
}

async function tinies() {
  const weights = weightsOf('vit_tiny_patch16_224');
  const images = path.join(work, 'images.npy');
  writeNpy(images, [2, 3, 224, 224], normal(2 * 3 * 224 * 224, 7));
  for (const attention of ['full', 'fibottention', 'fibottention-modified', 'bigbird']) {
    await tinyOnnx(attention, '', weights, images);
    if (attention !== 'full') await tinyOnnx(attention, 'mask', weights, images);
  }
  for (const attention of ['full', 'fibottention']) await tinyOnnx(attention, '', weights, images, 'int8');
  await tinyOnnx('fibottention:masking=zero', 'gather', weights, images);
  const linformer = path.join(work, 'linformer.safetensors');
  writeRandomWeights(linformer, ...VITS.vit_tiny_patch16_224, true);
  await tinyOnnx('linformer', '', linformer, images);
}

// ---- Speed ----------------------------------------------------------------------------------------------------------

/** The shortest of some runs of a model, in milliseconds. */
async function timeRuns(file, inputs) {
  const session = await ort.InferenceSession.create(file, OPTIONS);
  let best = Infinity;
  for (let end = Date.now() + 2000, runs = 0; runs < 2 || Date.now() < end; ++runs) {
    const start = process.hrtime.bigint();
    await session.run(inputs);
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1e6);
  }
  await session.release();
  return best;
}

const timeOnnx = (file, resolution) =>
  timeRuns(file, {images: new ort.Tensor('float32', normal(3 * resolution * resolution, 5), [1, 3, resolution, resolution])});

const timeEngine = (file) =>
  JSON.parse(run('bench', 'model', '--engine', file, '--batch', '1', '--threads', String(THREADS), '--seconds', '3', '--json')).rows[0].ms;

const sparse = process.env.ATTENTION || 'fibottention';

function compiled(model, resolution, attention, precision) {
  const file = path.join(work, `${attention}-${precision}.fib`);
  run('compile', '--model', model, '--weights', weightsOf(model), '--resolution', String(resolution), '--attention', attention,
      '--precision', precision, '-o', file, '--quiet');
  return file;
}

function exported(model, resolution, attention, precision) {
  const file = path.join(work, `${attention}-${precision}.onnx`);
  run('export', '--model', model, '--weights', weightsOf(model), '--resolution', String(resolution), '--attention', attention,
      '--precision', precision, '-o', file, '--quiet');
  return file;
}

// A column of the table: its head, what makes its file, and the column that its time is compared with.
const COLUMNS = {
  onnxFull: {head: 'ONNX Runtime, full, float32', make: exported, of: ['full', 'f32']},
  onnxFullInt8: {head: 'int8', make: exported, of: ['full', 'int8']},
  onnxSparseInt8: {head: `its ${sparse}, int8`, make: exported, of: [sparse, 'int8'], over: 'onnxFullInt8'},
  sparse: {head: `${sparse}, float32`, make: compiled, of: [sparse, 'f32'], over: 'onnxFull'},
  sparseBfloat16: {head: 'bfloat16', make: compiled, of: [sparse, 'bf16'], over: 'sparse'},
  sparseInt8: {head: 'int8', make: compiled, of: [sparse, 'int8'], over: 'onnxFullInt8'},
  full: {head: 'full, float32', make: compiled, of: ['full', 'f32'], over: 'onnxFull'},
  fullInt8: {head: 'full, int8', make: compiled, of: ['full', 'int8'], over: 'onnxFullInt8'},
};

async function speedRow(model, resolution) {
  const files = Object.entries(COLUMNS).map(([key, c]) => [key, c.make(model, resolution, ...c.of)]);
  const best = {};
  for (let round = 0; round < Number(process.env.ROUNDS || 3); ++round) {
    for (const [key, file] of files) {
      const ms = file.endsWith('.onnx') ? await timeOnnx(file, resolution) : timeEngine(file);
      best[key] = Math.min(best[key] ?? Infinity, ms);
    }
  }
  const ratio = (key) => (COLUMNS[key].over ? ` (${(best[key] / best[COLUMNS[key].over]).toFixed(2)})` : '');
  const cells = Object.keys(COLUMNS).map((key) => best[key].toFixed(1) + ratio(key));
  console.log(`| ${model} at ${resolution} | ${cells.join(' | ')} |`);
}

async function speed() {
  const rows = (process.env.MODELS || ['vit_tiny_patch16_224@224', 'vit_base_patch16_224@224', 'vit_base_patch16_224@512',
                                       'vit_base_patch16_224@1024'].join(' ')).split(/\s+/);
  const version = require(path.join(process.env.ORT, 'node_modules/onnxruntime-node/package.json')).version;
  console.log(`\n${os.cpus()[0].model.trim()}, ${THREADS} threads, batch 1; milliseconds. In brackets float32 over ONNX ` +
              `Runtime ${version} in float32, int8 over its int8, both of the dense model; bfloat16 over our float32\n`);
  console.log(`| | ${Object.values(COLUMNS).map((c) => c.head).join(' | ')} |`);
  console.log(`| --- ${'| ---: '.repeat(Object.keys(COLUMNS).length)}|`);
  for (const row of rows) await speedRow(row.split('@')[0], Number(row.split('@')[1]));
}

// ---- Attention alone ------------------------------------------------------------------------------------------------

/** Just as much of protobuf as one node needs: fields of [number, value] with a number, text or an encoded message. */
function message(...fields) {
  const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(Math.floor(n / 128))]);
  return Buffer.concat(fields.map(([number, value]) => {
    if (typeof value === 'number') return Buffer.from([...varint(number * 8), ...varint(value)]);
    const bytes = Buffer.from(value);
    return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
  }));
}

/** ONNX Runtime's own operator of all heads, [1, tokens, channels] each; without mask and bias it runs by its flash kernel. */
function writeAttention(file, tokens, heads, channels) {
  const FLOAT = 1, INT = 2;
  const shape = message(...[1, tokens, channels].map((n) => [1, message([1, n])]));
  const array = (name) => message([1, name], [2, message([1, message([1, FLOAT], [2, shape])])]);
  const node = message([1, 'q'], [1, 'k'], [1, 'v'], [2, 'out'], [4, 'MultiHeadAttention'],
                       [5, message([1, 'num_heads'], [3, heads], [20, INT])], [7, 'com.microsoft']);
  const graph = message([1, node], [2, 'attention'], ...['q', 'k', 'v'].map((name) => [11, array(name)]), [12, array('out')]);
  const domains = [[8, message([1, ''], [2, 17])], [8, message([1, 'com.microsoft'], [2, 1])]];
  fs.writeFileSync(file, message([1, 8], [7, graph], ...domains));
}

async function timeAttention(tokens, heads, channels) {
  const file = path.join(work, 'attention.onnx');
  writeAttention(file, tokens, heads, channels);
  const array = (seed) => new ort.Tensor('float32', normal(tokens * channels, seed), [1, tokens, channels]);
  return timeRuns(file, {q: array(1), k: array(2), v: array(3)});
}

async function attentions() {
  console.log('\nAttention alone, 12 heads of 64 channels, batch 1, forward; milliseconds\n');
  console.log('| tokens | ONNX Runtime, MultiHeadAttention | dense-tiled | over ONNX Runtime | LibTorch, dense | fibottention |');
  console.log('| ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const tokens of (process.env.TOKENS || '784 4096').split(' ').map(Number)) {
    let theirs = Infinity;
    const ours = {};
    for (let round = 0; round < Number(process.env.ROUNDS || 3); ++round) {
      theirs = Math.min(theirs, await timeAttention(tokens + 1, 12, 768));
      const {rows} = JSON.parse(run('bench', 'attention', '--tokens', String(tokens), '--threads', String(THREADS), '--json'));
      for (const row of rows) ours[row.contestant] = Math.min(ours[row.contestant] ?? Infinity, row.ms);
    }
    console.log(`| ${tokens} | ${theirs.toFixed(1)} | ${ours['dense-tiled'].toFixed(1)} | ${(ours['dense-tiled'] / theirs).toFixed(2)} | ` +
                `${ours.dense.toFixed(1)} | ${ours.fibottention.toFixed(2)} |`);
  }
}

async function main(what) {
  const wants = (part) => what === part || what === 'all';
  if (wants('parity')) await minis();
  if (wants('parity')) await tinies();
  if (wants('speed')) await speed();
  if (wants('attention')) await attentions();
  if (failures > 0) throw new Error(`${failures} models differ by more than ${TOLERANCE}, or in int8 by a correlation of less than ${1 - INT8_TOLERANCE}`);
}

main(process.argv[2]).catch((error) => {
  console.error(`compare-onnxruntime: ${error.message}`);
  process.exit(1);
});
