"""Colours and layout, for light and dark, wide and narrow."""

from __future__ import annotations

__all__ = ["COLOURS", "PAGE"]

# Okabe and Ito's colours, which the colour-blind can tell apart, lightened for the dark.
_LIGHT = (
    "--ink:#1d2430;--muted:#5b6675;--rule:#dfe4ea;--paper:#ffffff;--card:#f5f7f9;"
    "--advance:#2f77b8;--record:#d98200;--reverse:#0a8f6c;--hold:#a9b4c2;--disk:#b07cc6;"
    "--budget:#cc3d1d;--good:#0a7d57;--bad:#c22f1b;--f0:#7a63c7;--f1:#2f77b8;--f2:#0a8f6c;"
    "--f3:#d98200;--f4:#b0567f;--f5:#7d8794"
)
_DARK = (
    "--ink:#e8ecf1;--muted:#9fabba;--rule:#333d4a;--paper:#14181e;--card:#1d232b;"
    "--advance:#63aee8;--record:#f0a63c;--reverse:#3cc79c;--hold:#5d6a7a;--disk:#c79bdb;"
    "--budget:#ff7a59;--good:#3cc79c;--bad:#ff7a59;--f0:#a993ee;--f1:#63aee8;--f2:#3cc79c;"
    "--f3:#f0a63c;--f4:#e08bb0;--f5:#8e99a8"
)
COLOURS = (
    f":root{{{_LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    "svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "svg text{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}"
    ".aj-t{fill:var(--ink)}.aj-m{fill:var(--muted)}.aj-b{fill:var(--ink);font-weight:600}"
    ".aj-paper{fill:var(--paper)}.aj-over{fill:var(--budget)}"
    ".aj-axis{stroke:var(--muted);fill:none}.aj-grid{stroke:var(--rule);fill:none}"
    ".aj-advance{stroke:var(--advance);fill:none;stroke-width:1.6}"
    ".aj-record{stroke:var(--record);fill:none;stroke-width:2.6}"
    ".aj-reverse{stroke:var(--reverse);fill:none;stroke-width:2.6}"
    ".aj-hold0{stroke:var(--hold);fill:none}.aj-hold1{stroke:var(--disk);fill:none}"
    ".aj-cells.aj-advance,.aj-cells.aj-record,.aj-cells.aj-reverse,.aj-cells.aj-hold0,"
    ".aj-cells.aj-hold1{stroke-width:1.3}"
    ".aj-turn{stroke:var(--muted);stroke-dasharray:2 3;fill:none}"
    ".aj-budget{stroke:var(--budget);stroke-dasharray:7 4;stroke-width:1.8;fill:none}"
    ".aj-fill-snap{fill:var(--hold)}.aj-fill-rec{fill:var(--record)}"
    ".aj-fill-stand{fill:var(--f1);opacity:.45}"
    ".aj-fill-joint{fill:var(--f1);opacity:.7}.aj-fill-own{fill:var(--reverse);opacity:.6}"
    ".aj-fill-loop{fill:var(--f0);opacity:.55}"
    ".aj-best{stroke:var(--ink);stroke-width:2.4;fill:none}"
    ".aj-dot{fill:var(--ink)}.aj-ring{fill:var(--paper);stroke:var(--budget);stroke-width:2.2}"
    ".aj-you{fill:var(--budget)}.aj-peer{fill:var(--f0)}.aj-peer2{fill:var(--f3)}"
    + "".join(
        f".aj-f{i}{{stroke:var(--f{i});stroke-width:1.3;fill:none;opacity:.85}}" for i in range(6)
    )
)

PAGE = (
    COLOURS
    + """
*{box-sizing:border-box}
html{color-scheme:light dark}
body{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 .3rem}
h2{font-size:1.2rem;margin:2.4rem 0 .5rem;border-top:1px solid var(--rule);padding-top:1.2rem}
p{margin:.4rem 0 .8rem;max-width:74ch}
.sub,.note,figcaption{color:var(--muted)}
.note,figcaption{font-size:.9rem}
.verdict{display:inline-block;margin:.6rem 0 .2rem;padding:.3rem .8rem;border-radius:6px;
 font-weight:600;border:1.5px solid var(--good);color:var(--good)}
.verdict.bad{border-color:var(--bad);color:var(--bad)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:12px;
 margin:1.2rem 0}
.card{background:var(--card);border-radius:8px;padding:12px 14px}
.card b{display:block;font-size:1.4rem;line-height:1.3;font-variant-numeric:tabular-nums}
.card span{display:block;font-size:.88rem;color:var(--muted)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.94rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.32rem .7rem;border-bottom:1px solid var(--rule)}
td{white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal}
th{font-weight:600;color:var(--muted)}
ul{padding-left:1.2rem;max-width:78ch}
figure{margin:1rem 0}
figure svg{width:100%;height:auto;display:block}
figure .narrow{display:none}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:0 20px}
.pair figure:nth-child(3){grid-column:1/-1;max-width:720px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1rem;font-size:.94rem}
dt{font-weight:600}dd{margin:0}
code{font:.9em ui-monospace,Menlo,Consolas,monospace;background:var(--card);padding:.1em .35em;
 border-radius:4px;overflow-wrap:anywhere}
@media(max-width:640px){main{padding:18px 14px 40px}h1{font-size:1.35rem}
 figure .wide{display:none}figure .narrow{display:block}.pair{grid-template-columns:minmax(0,1fr)}
 table{font-size:.84rem}th,td{padding:.28rem .4rem}
 .cards{grid-template-columns:1fr 1fr}.card b{font-size:1.15rem}
 dl{grid-template-columns:1fr}dd{margin-bottom:.5rem}}
pre{overflow-x:auto;font:.88rem/1.45 ui-monospace,Menlo,Consolas,monospace;
 background:var(--card);padding:.8rem 1rem;border-radius:8px}
@media print{.narrow{display:none}}
"""
)
