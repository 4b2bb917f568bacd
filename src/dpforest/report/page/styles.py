"""How the page looks: two sets of colours, one layout, and paper."""

from __future__ import annotations

LIGHT = {
    "page": "#f4f6f8",
    "card": "#ffffff",
    "ink": "#18212b",
    "muted": "#51606f",
    "line": "#d5dce3",
    "accent": "#0a665e",
    "soft": "#e3f1ef",
    "good": "#0f5f39",
    "good-back": "#e4f4ea",
    "warn": "#714600",
    "warn-back": "#fdf1d8",
    "bad": "#971b1b",
    "bad-back": "#fde9e8",
    "mark": "#178377",
    "track": "#e6ebf0",
    "second": "#b4470e",
    "third": "#5a4fcf",
    "fourth": "#8a6100",
    "fifth": "#b02a6b",
    "sixth": "#44576b",
}
DARK = {
    "page": "#10151b",
    "card": "#182029",
    "ink": "#e8edf2",
    "muted": "#a9b6c3",
    "line": "#34404c",
    "accent": "#66d0c3",
    "soft": "#143330",
    "good": "#93e0b4",
    "good-back": "#143021",
    "warn": "#f4cb80",
    "warn-back": "#352a10",
    "bad": "#ffb4ac",
    "bad-back": "#3d1c1c",
    "mark": "#3fb3a5",
    "track": "#2a3540",
    "second": "#f19a66",
    "third": "#a9a2ff",
    "fourth": "#e0b84f",
    "fifth": "#f48fbe",
    "sixth": "#a3b6c9",
}
TEXT_ON = (
    ("ink", "page"), ("ink", "card"), ("muted", "page"), ("muted", "card"), ("accent", "card"),
    ("accent", "page"), ("ink", "soft"), ("muted", "soft"), ("accent", "soft"),
    ("good", "good-back"), ("warn", "warn-back"), ("bad", "bad-back"),
    ("ink", "good-back"), ("ink", "warn-back"), ("ink", "bad-back"),
)  # fmt: skip
"""Which colours of text stand on which: 4.5 to 1 at least."""
LINES = ("mark", "second", "third", "fourth", "fifth", "sixth")
"""The colours of lines and bars on a card: 3 to 1 at least."""


def _colours(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


LAYOUT = """
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,
"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif;font-variant-numeric:tabular-nums}
.sheet{max-width:72rem;margin:0 auto;padding:2rem 1.25rem 4rem}
a{color:var(--accent)}
a:focus-visible,summary:focus-visible,.wide:focus-visible{outline:2px solid var(--accent);
outline-offset:2px}
h1{font-size:clamp(1.6rem,1.1rem + 2.2vw,2.35rem);line-height:1.15;margin:.2rem 0 .4rem;
letter-spacing:-.015em;overflow-wrap:anywhere}
h2{font-size:1.3rem;line-height:1.25;margin:0 0 .75rem;letter-spacing:-.01em}
h3{font-size:1rem;margin:1.6rem 0 .5rem}
p,ul,dl{margin:0 0 .8rem}
p,li{max-width:68ch;overflow-wrap:anywhere}
ul{padding-left:1.2rem}
li{margin:.3rem 0}
code,.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;
font-size:.86em;overflow-wrap:anywhere}
.kicker{margin:0;color:var(--accent);font-weight:600;font-size:.82rem;letter-spacing:.06em;
text-transform:uppercase}
.muted,.small{color:var(--muted)}
.small{font-size:.875rem}
header{margin-bottom:1.25rem}
header p{max-width:none}
.body{display:block}
nav{margin:0 0 1.25rem}
nav ol{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.3rem .4rem;
font-size:.875rem}
nav a{display:inline-block;padding:.2rem .6rem;border:1px solid var(--line);border-radius:99px;
background:var(--card);text-decoration:none}
nav a:hover{text-decoration:underline}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;
padding:1.4rem 1.4rem 1rem;margin:0 0 1.1rem}
.verdict{border-radius:12px;padding:1rem 1.25rem;margin:0 0 1.1rem;border:1px solid currentColor;
border-left-width:6px}
.verdict p{color:var(--ink);margin:.25rem 0 0}
.verdict strong{display:block;font-size:1.12rem;line-height:1.3}
.good{color:var(--good);background:var(--good-back)}
.warn{color:var(--warn);background:var(--warn-back)}
.bad{color:var(--bad);background:var(--bad-back)}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;
margin:0 0 1.1rem}
.facts>div{background:var(--card);border:1px solid var(--line);border-radius:12px;
padding:.8rem 1rem}
.facts dt{color:var(--muted);font-size:.82rem}
.facts dd{margin:.1rem 0 0;font-weight:600;font-size:1.05rem;line-height:1.3;
overflow-wrap:anywhere}
.facts .large dd{font-size:1.4rem;white-space:nowrap}
.terms>div{display:grid;grid-template-columns:13rem 1fr;gap:.2rem 1rem;padding:.45rem 0;
border-top:1px solid var(--line)}
.terms>div:first-child{border-top:0}
.terms dt{color:var(--muted)}
.terms dd{margin:0;overflow-wrap:anywhere}
.wide{overflow-x:auto;margin:0 0 .9rem}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;padding:.42rem .7rem;border-top:1px solid var(--line);vertical-align:top}
thead th{color:var(--muted);font-weight:600;font-size:.82rem;border-top:0;vertical-align:bottom}
tbody th{font-weight:500;overflow-wrap:anywhere;min-width:6.5rem}
tbody td{overflow-wrap:break-word}
.slim{max-width:34rem}
th:first-child,td:first-child{padding-left:0}
th:last-child,td:last-child{padding-right:0}
.number{text-align:right}
td.number{white-space:nowrap}
tr.this th,tr.this td{background:var(--soft)}
summary{cursor:pointer;padding:.25rem 0;color:var(--accent);font-weight:600}
.tree details,.tree .spend{border-left:2px solid var(--line);margin:.15rem 0 .15rem .35rem;
padding:.1rem 0 .1rem .8rem}
.tree>details{border-left-color:var(--mark)}
.tree summary{color:var(--ink);font-weight:500}
.tree .spend{padding-left:1.9rem}
.line{display:inline-flex;flex-wrap:wrap;gap:.1rem .8rem;width:calc(100% - 1.3rem);
justify-content:space-between;vertical-align:top}
.spend .line{width:100%}
.line>span:first-child{flex:1 1 16rem;overflow-wrap:anywhere}
.cost{font-weight:600;white-space:nowrap}
.how{display:block;color:var(--muted);font-size:.85rem;font-weight:400}
.meter{display:block;height:.4rem;border-radius:99px;background:var(--track);overflow:hidden;
margin:.2rem 0 .1rem;max-width:26rem}
.meter i{display:block;height:100%;background:var(--mark)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));
gap:1rem 1.25rem;margin:0 0 .9rem}
figure{margin:0;min-width:0}
figcaption{font-weight:600;font-size:.92rem;margin-bottom:.25rem;overflow-wrap:anywhere}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--muted);font-size:11px}
svg .strong{fill:var(--ink)}
svg .axis{stroke:var(--line);stroke-width:1}
svg .band{fill:var(--mark);opacity:.18}
svg .track{fill:var(--track)}
svg .bar{fill:var(--mark)}
.c0{stroke:var(--mark)}.c1{stroke:var(--second)}.c2{stroke:var(--third)}
.c3{stroke:var(--fourth)}.c4{stroke:var(--fifth)}.c5{stroke:var(--sixth)}
svg .curve{fill:none;stroke-width:2.2;stroke-linejoin:round}
svg .guide{stroke:var(--muted);stroke-dasharray:3 4;fill:none}
.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;
margin:.2rem 0 0;color:var(--muted)}
.legend li{margin:0}
.legend svg{display:inline-block;width:1.4rem;height:.7rem;margin-right:.35rem;
vertical-align:baseline}
.bars{display:grid;grid-template-columns:minmax(6rem,12rem) 1fr 3.6rem;gap:.45rem .8rem;
align-items:center;font-size:.92rem;margin:0 0 .9rem}
.bars>span{overflow-wrap:anywhere}
.bars>.number{font-weight:600;white-space:nowrap}
.bars .meter{max-width:none;height:.7rem;margin:0}
.ends{display:flex;justify-content:space-between;gap:1rem;color:var(--muted);font-size:.82rem}
.scale{margin:0 0 1.2rem;max-width:34rem}
.scale .meter{max-width:none;height:.6rem;margin:.15rem 0 .3rem}
.tracks{grid-template-columns:minmax(5rem,8.5rem) 1fr 3rem;font-size:.85rem;gap:.3rem .7rem}
.tracks>.number{font-weight:400}
.track{position:relative;height:1rem;background:linear-gradient(var(--line),var(--line)) center/100%
1px no-repeat}
.track i{position:absolute;top:.2rem;width:.6rem;height:.6rem;margin-left:-.3rem;border-radius:99px}
.b0{background:var(--mark)}.b1{background:var(--second)}.b2{background:var(--third)}
.b3{background:var(--fourth)}.b4{background:var(--fifth)}.b5{background:var(--sixth)}
.sign{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(15rem,100%),1fr));
gap:2.4rem 2rem;margin:2rem 0 1rem}
.sign div{border-top:1px solid var(--ink);padding-top:.3rem;font-size:.85rem;color:var(--muted)}
.choice{list-style:none;padding:0}
.choice li::before{content:"";display:inline-block;width:.95rem;height:.95rem;
border:1.5px solid var(--ink);border-radius:3px;margin-right:.6rem;vertical-align:-.12rem}
footer{color:var(--muted);font-size:.85rem}
@media (min-width:66rem){
.body{display:grid;grid-template-columns:13.5rem minmax(0,1fr);gap:1.75rem;align-items:start}
.facts{grid-template-columns:1fr 1.25fr 1.8fr 1fr 1.1fr}
nav{position:sticky;top:1rem}
nav ol{display:block}
nav a{display:block;border:0;background:none;border-radius:8px;padding:.28rem .6rem}
nav a:hover{background:var(--soft)}
}
@media (max-width:34rem){
.sheet{padding:1.1rem .9rem 3rem}
section{padding:1.1rem 1rem .7rem}
.terms>div{grid-template-columns:1fr}
.facts{grid-template-columns:1fr 1fr;gap:.6rem}
.facts>div{padding:.65rem .8rem}
.facts .full{grid-column:1/-1}
.facts .large dd{font-size:1.3rem}
.bars{grid-template-columns:minmax(5rem,8.5rem) 1fr 3.2rem;gap:.45rem .6rem;font-size:.85rem}
.tree details,.tree .spend{margin-left:0;padding-left:.6rem}
.tree .spend{padding-left:.8rem}
th,td{padding-left:.45rem;padding-right:.45rem}
td.number{white-space:normal}
tbody th{min-width:5rem}
}
"""
PAPER = """
@page{size:A4;margin:16mm 15mm 18mm}
@media print{
body{background:#fff;font-size:10pt}
nav{display:none}
.sheet{max-width:none;padding:0}
.body{display:block}
section{border:0;border-top:1px solid var(--line);border-radius:0;padding:.8rem 0 .2rem;margin:0}
.verdict,.facts>div{border-radius:4px}
h2,h3,figcaption,summary{break-after:avoid}
figure,tr,.spend,.verdict,.facts>div,.sign,.choice,.terms>div{break-inside:avoid}
.decision{break-inside:avoid}
.wide{overflow:visible}
.facts{grid-template-columns:1fr 1fr 1.6fr 1fr 1fr}
a{color:inherit;text-decoration:none}
details::details-content{content-visibility:visible;display:block;block-size:auto;opacity:1}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}
"""


def stylesheet() -> str:
    """Return the whole style of the page; paper is always light."""
    light, dark = _colours(LIGHT), _colours(DARK)
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{LAYOUT}{PAPER}"
    )
