// The pages' HTML and style, in mustache: {{name}} is escaped, {{{name}}} is ours.
#pragma once

namespace fiel::report {

inline constexpr const char* kPageHead = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="fiel">
<title>{{title}}</title>
<style>
:root { color-scheme: light dark; --paper: #fff; --card: #f6f7f9; --ink: #1b1f24; --dim: #5c6570;
  --grid: #dde1e6; --good: #1a7f4b; --bad: #c3342b; --warn: #a06000; --hit: #fde8e6;
  --s0: #1f6feb; --s1: #d9730d; --s2: #7a4fd0; --s3: #0f8b8d; --s4: #b03a7c; --s5: #6b7280;
  --c: #6a737d; --k: #a0305f; --s: #22693f; --n: #1f5fae; --p: #7a4fd0; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --card: #1c2026; --ink: #e4e8ec;
  --dim: #98a2ad; --grid: #323942; --good: #4cc38a; --bad: #ff7b72; --warn: #e3a94b; --hit: #4a2325;
  --s0: #6cabff; --s1: #f0a35e; --s2: #b79cff; --s3: #5fd0d2; --s4: #f08cc0; --s5: #a3acb8;
  --c: #8b949e; --k: #ff8fb8; --s: #8fd6a4; --n: #8cc0ff; --p: #c6adff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 16px; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; margin: .2em 0; } h2 { font-size: 1rem; margin: 1.6em 0 .5em; }
p { margin: .3em 0; } .dim, small { color: var(--dim); } .mono, pre, code { font-family: ui-monospace,
  "DejaVu Sans Mono", monospace; font-size: .84rem; }
.badge { display: inline-block; padding: .1em .6em; border-radius: 4px; color: var(--paper);
  font-weight: 600; font-size: .85rem; text-transform: uppercase; letter-spacing: .03em; }
.badge.good { background: var(--good); } .badge.bad { background: var(--bad); }
.badge.warn { background: var(--warn); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 8px;
  margin: 14px 0; }
.facts div { background: var(--card); border-radius: 6px; padding: 8px 10px; }
.facts b { display: block; font-size: 1.05rem; } .facts span { color: var(--dim); font-size: .8rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr));
  gap: 12px; align-items: start; }
figure { margin: 0; background: var(--card); border-radius: 6px; padding: 10px; }
figcaption { font-weight: 600; font-size: .88rem; margin-bottom: 6px; }
svg { width: 100%; height: auto; display: block; font-size: 11px; }
svg text { fill: var(--ink); } svg .tick { fill: var(--dim); font-size: 10px; }
svg line, svg path { fill: none; stroke: var(--ink); } svg .grid { stroke: var(--grid); }
svg .one { stroke: var(--dim); stroke-dasharray: 3 3; } svg .roof { stroke: var(--dim); stroke-width: 2; }
svg .thick { stroke-width: 3; } svg .curve { stroke-width: 1.6; } svg .faint { opacity: .45; }
svg .good { fill: var(--good); stroke: var(--good); } svg .bad { fill: var(--bad); stroke: var(--bad); }
svg .even { fill: var(--warn); stroke: var(--warn); } svg .off { fill: var(--dim); stroke: var(--dim); }
svg circle, svg rect, svg text { stroke: none !important; } svg path { fill: none !important; }
svg .s0 { fill: var(--s0); stroke: var(--s0); } svg .s1 { fill: var(--s1); stroke: var(--s1); }
svg .s2 { fill: var(--s2); stroke: var(--s2); } svg .s3 { fill: var(--s3); stroke: var(--s3); }
svg .s4 { fill: var(--s4); stroke: var(--s4); } svg .s5 { fill: var(--s5); stroke: var(--s5); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .86rem; min-width: 100%; }
th { text-align: left; color: var(--dim); font-weight: 500; } th, td { padding: 4px 14px 4px 0;
  border-bottom: 1px solid var(--grid); vertical-align: top; overflow-wrap: break-word; } td.num, th.num { text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; } td.why { min-width: 16em; }
.good-text { color: var(--good); } .bad-text { color: var(--bad); } .warn-text { color: var(--warn); }
.finding { border-left: 3px solid var(--grid); padding: 2px 0 2px 10px; margin: 8px 0; }
.finding.error { border-color: var(--bad); } .finding.warn { border-color: var(--warn); }
pre { margin: 0; white-space: pre-wrap; } .box { background: var(--card); border-radius: 6px;
  padding: 10px; max-height: 24em; overflow: auto; }
.source { background: var(--card); border-radius: 6px; padding: 8px 0; overflow-x: auto; }
.source div { white-space: pre; padding: 0 10px; width: max-content; min-width: 100%; overflow-wrap: normal; }
.source b { display: inline-block; width: 3.2em; padding-right: 1em; text-align: right; color: var(--dim);
  font-weight: 400; user-select: none; } .source .hit { background: var(--hit); }
.source .note { white-space: pre-wrap; width: auto; color: var(--bad); padding-left: calc(3.2em + 10px); }
i { font-style: normal; } i.c { color: var(--c); } i.k { color: var(--k); } i.s { color: var(--s); }
i.n { color: var(--n); } i.p { color: var(--p); }
details { margin: 10px 0; } summary { cursor: pointer; color: var(--dim); }
@media print { .box { max-height: none; } }
@media (max-width: 640px) { .stack, .stack tbody, .stack tr, .stack td { display: block; }
  .stack tr:first-child, .stack td:empty { display: none; } .stack tr { padding: 6px 0;
  border-bottom: 1px solid var(--grid); } .stack td, .stack td.num { border: 0; padding: 1px 0; text-align: left;
  white-space: normal; overflow-wrap: anywhere; } .stack td[data-is]::before { content: attr(data-is) " ";
  color: var(--dim); } }
</style>
</head>
<body>
)html";

inline constexpr const char* kVerdictBody = R"html(<header>
<p><span class="badge {{tone}}">{{status}}</span> <span class="dim">{{task}}</span></p>
<h1>{{kernel}}</h1>
<p>{{reason}}</p>
</header>
<section class="facts">{{#facts}}<div><b>{{value}}</b><span>{{name}}</span></div>{{/facts}}</section>
{{#has_witness}}<h2>Witness</h2>
<div class="scroll"><table>{{#witness}}<tr><th>{{name}}</th><td class="mono">{{value}}</td></tr>{{/witness}}</table></div>{{/has_witness}}
{{#has_findings}}<h2>Findings</h2>
{{#findings}}<div class="finding {{grade}}"><b>{{code}}</b>{{#count}} <span class="dim">{{count}} times</span>{{/count}}<pre>{{text}}</pre></div>
{{/findings}}{{/has_findings}}
<h2>Measured</h2>
{{#why}}<p class="dim">{{why}}</p>{{/why}}
<section class="charts">{{#charts}}<figure><figcaption>{{caption}}</figcaption>{{{svg}}}</figure>
{{/charts}}</section>
{{#has_sides}}<h2>Times of one call</h2>
<div class="scroll"><table><tr><th>side</th><th class="num">median</th><th class="num">95 % interval</th><th class="num">device</th><th class="num">host</th><th class="num">speed-up of the kernel</th></tr>
{{#sides}}<tr><td>{{name}}</td><td class="num">{{median}}</td><td class="num">{{interval}}</td><td class="num">{{device}}</td><td class="num">{{host}}</td><td class="num">{{ratio}}</td></tr>
{{/sides}}</table></div>{{/has_sides}}
{{#has_kernels}}<h2>What it launched</h2>
<div class="scroll"><table><tr><th>kernel</th><th>origin</th><th class="num">launches</th><th class="num">device time</th></tr>
{{#kernels}}<tr><td class="mono">{{name}}</td><td>{{origin}}</td><td class="num">{{launches}}</td><td class="num">{{time}}</td></tr>
{{/kernels}}</table></div>{{/has_kernels}}
{{#has_probes}}<h2>Probes</h2>
<div class="scroll"><table><tr><th>probe</th><th>shapes</th><th>outcome</th><th class="num">calls</th><th class="num">worst error</th><th class="num">bound</th></tr>
{{#probes}}<tr><td>{{probe}}</td><td>{{shape}}</td><td class="{{tone}}-text">{{outcome}}</td><td class="num">{{calls}}</td><td class="num">{{error}}</td><td class="num">{{bound}}</td></tr>
{{/probes}}</table></div>{{/has_probes}}
{{#compiler}}<h2>Compiler</h2><div class="box"><pre>{{compiler}}</pre></div>{{/compiler}}
{{#printed}}<h2>It printed</h2><div class="box"><pre>{{printed}}</pre></div>{{/printed}}
{{#has_source}}<h2>Source</h2>
<div class="source mono">{{#source}}<div{{#hit}} class="hit"{{/hit}}><b>{{number}}</b>{{{html}}}</div>{{#note}}<div class="note">{{note}}</div>{{/note}}{{/source}}</div>
{{#cut}}<p class="dim">{{cut}}</p>{{/cut}}{{/has_source}}
{{#has_task_source}}<details><summary>The task</summary><div class="source mono">{{#task_source}}<div><b>{{number}}</b>{{{html}}}</div>{{/task_source}}</div></details>{{/has_task_source}}
<p class="dim"><small>{{footer}}</small></p>
</body>
</html>
)html";

inline constexpr const char* kRunBody = R"html(<header>
<p class="dim">run</p>
<h1>{{title}}</h1>
<p>{{state}}</p>
</header>
<section class="facts">{{#facts}}<div><b>{{value}}</b><span>{{name}}</span></div>{{/facts}}</section>
{{#left_out}}<p class="dim">{{left_out}}</p>{{/left_out}}
{{#has_charts}}<section class="charts">{{#charts}}<figure><figcaption>{{caption}}</figcaption>{{{svg}}}</figure>
{{/charts}}</section>{{/has_charts}}
<h2>Kernels</h2>
<div class="scroll"><table class="stack"><tr><th>verdict</th><th>kernel</th><th>task</th><th>numerics</th><th class="num">speed-up</th><th class="num">memory</th><th>why</th></tr>
{{#rows}}<tr><td class="{{tone}}-text">{{status}}</td><td>{{kernel}}</td><td data-is="task">{{task}}</td><td data-is="numerics">{{numerics}}</td><td class="num" data-is="speed-up">{{ratio}}</td><td class="num" data-is="memory">{{memory}}</td><td class="why">{{reason}}</td></tr>
{{/rows}}</table></div>
<p class="dim"><small>{{footer}}</small></p>
</body>
</html>
)html";

}  // namespace fiel::report
