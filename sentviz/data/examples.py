"""Example sentences and pairs of sentences, each with the class that a person gives it: our own, and those that a paper discusses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A sentence or a pair, the phenomenon that it shows, and the class that a person gives it."""

    kind: str
    text: str
    reading: str  # name of the class
    language: str = "en"
    pair: str | None = None  # the second sentence
    paper: str = ""  # name of the paper that discusses it; it is offered to runs of this paper's models


EXAMPLES = (
    Example("Contrast", "The plot drags in places, but the two leads are a quiet delight.", "positive"),
    Example("Plain", "A clumsy script, wooden acting and a dull ending.", "negative"),
    Example("Negation", "This is not a bad film at all.", "positive"),
    Example("Intensity", "It is mildly funny once and painfully slow for the rest.", "negative"),
    Example("Sarcasm", "Great, another brilliant sequel that nobody asked for.", "negative"),
    Example(
        "Mixed",
        "I wanted to like this film, but the story is a mess and the jokes fall flat. Only the music is worth your time.",
        "negative",
    ),
    Example("Balance", "The story is boring and the acting is terrible, but the music is wonderful and I loved the ending.", "negative"),
    Example("Two turns", "The room was not bad at all, but I would not recommend the breakfast to anyone.", "negative"),
    Example("Tweet", "I hate waiting for the bus, but this song makes me smile.", "positive"),
    Example("Headline", "Shares slide after the retailer cuts its forecast, but analysts still see room to grow.", "bearish"),
    Example("Upgrade", "Chip maker raised to buy on strong orders, price target lifted.", "bullish"),
    Example("Report", "The company will publish its quarterly results on Thursday.", "neutral"),
    Example("Loss", "Airline stock plunges as fuel costs wipe out its profit.", "bearish"),
    Example("Relief", "Losses narrow less than feared and the stock rebounds.", "bullish"),
    Example("Figures", "Dividend of 20 cents declared, unchanged from last year.", "neutral"),
    Example("Stars", "The food was cold and the waiter forgot us twice, but the dessert made up for some of it.", "2 stars"),
    Example("Praise", "Best coffee in town, friendly people and a sunny yard; we will be back.", "5 stars"),
    Example("Contrast", "배우들의 연기는 좋았지만 이야기는 끝까지 지루했다.", "negative", "ko"),
    Example("Plain", "엉성한 각본에 어색한 연기, 결말까지 뻔하다.", "negative", "ko"),
    Example("Negation", "전혀 지루하지 않았고 끝까지 눈을 뗄 수 없었다.", "positive", "ko"),
    Example("Warmth", "오랜만에 마음이 따뜻해지는 영화를 만났다.", "positive", "ko"),
    Example("Sarcasm", "잠이 안 올 때 틀어 놓으면 딱 좋은 대단한 명작이네요.", "negative", "ko"),
    Example("Mixed", "음악은 정말 훌륭했는데 나머지는 하나같이 실망스러웠다.", "negative", "ko"),
    Example("Chat", "ㅋㅋㅋ 이걸 돈 내고 봤다니 내 두 시간 돌려줘", "negative", "ko"),
    Example("Same question", "오늘 저녁에 비가 올까?", "same", "ko", "오늘 밤에 비 소식이 있어?"),
    Example("Other question", "여권은 어디서 신청해?", "different", "ko", "여권을 잃어버리면 어떻게 해?"),
    Example("Shared words", "서울에서 부산까지 얼마나 걸려?", "different", "ko", "서울에서 부산까지 요금이 얼마야?"),
    Example("Entailed", "배우들이 모두 무대에 올라와 인사했다.", "entailment", "ko", "배우들이 무대에 있었다."),
    Example("Open", "그 영화는 밤늦게 끝났다.", "neutral", "ko", "관객들은 그 영화를 좋아했다."),
    Example("Contradicted", "그 극장은 지난달에 문을 닫았다.", "contradiction", "ko", "그 극장은 지금도 영업하고 있다."),
    Example("Paper: sarcasm", "Great, the Wi-Fi is broken again.", "negative", paper="sentiformer"),  # section V-E
    Example(
        "Paper: praise, then no", "The acting is absolutely brilliant but I still cannot recommend it.", "negative", paper="sentiformer"
    ),  # section I
    Example(
        "Paper: not, far away", "I do not like, despite what many reviewers claim, this product.", "negative", paper="sentiformer"
    ),  # section II
)


def examples_for(labels: Sequence[str], language: str = "en", *, pairs: bool = False, papers: Collection[str] = ()) -> dict[str, Example]:
    """Return the examples in a language whose class is one of `labels`, by kind; all examples in the language if no class fits.

    Args:
        pairs: return pairs of sentences instead of single ones.
        papers: names of papers whose own sentences are returned too.
    """
    offered = [example for example in EXAMPLES if not example.paper or example.paper in papers]
    spoken = [example for example in offered if example.language == language and (example.pair is not None) == pairs]
    fitting = {example.kind: example for example in spoken if example.reading in labels}
    return fitting or {example.kind: example for example in spoken}
