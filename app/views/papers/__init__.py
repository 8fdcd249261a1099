"""A page per paper, and their claims."""

OWN = {  # name of an OwnBlock -> function of its subject
    "fused-follow": "app.views.papers.own_parts:follow_button",
    "fused-answers": "app.views.papers.own_parts:answers",
    "fused-measure-coverage": "app.views.papers.own_parts:measure_coverage",
    "hardmax-page": "app.views.papers.paper_parts:hardmax_page",
    "hardmax-playground": "app.views.papers.paper_parts:hardmax_playground",
    "ndt-results": "app.views.papers.own_parts:results",
    "ndt-compare": "app.views.papers.own_parts:compare",
    "sentiformer-gates": "app.views.papers.paper_parts:gates",
    "sentiformer-smoothing": "app.views.papers.smoothing:show",
    "sentiformer-proposition": "app.views.papers.proposition:show",
    "sentiformer-failures": "app.views.papers.paper_parts:failures",
    "sevenessxin-matrix": "app.views.papers.paper_parts:matrix",
    "sevenessxin-clouds": "app.views.papers.paper_parts:clouds",
    "sevenessxin-importance": "app.views.papers.paper_parts:importance",
    "sevenessxin-schema": "app.views.papers.paper_parts:schema",
    "sevenessxin-padding": "app.views.papers.paper_parts:padding",
}
