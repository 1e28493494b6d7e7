"""A price list as a PDF."""

import io

from reportlab.lib.pagesizes import A4, landscape
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer
from reportlab.platypus import Table as Grid

from mail.generator.table import Offer, table


def document(offer: Offer, after: str) -> bytes:
    """Returns one or more pages with a table, ruled or not."""
    made = table(offer)
    styles = getSampleStyleSheet()
    title = f"{offer.sender.house}: {offer.at:%d.%m.%Y %H:%M}"
    look = [("FONTSIZE", (0, 0), (-1, -1), 8)]
    ruled = [("GRID", (0, 0), (-1, -1), 0.25, "grey")] if offer.random.random() < 0.6 else []
    grid = Grid([made.heads, *made.rows], repeatRows=1, style=look + ruled)
    story: list[Flowable] = [Paragraph(title, styles["Heading2"])]
    story.append(Paragraph(made.sentence, styles["Normal"]))
    story += [Spacer(1, 8), grid, Spacer(1, 12), Paragraph(after, styles["Italic"])]
    file = io.BytesIO()
    SimpleDocTemplate(file, pagesize=landscape(A4), title=title, invariant=1).build(story)
    return file.getvalue()
