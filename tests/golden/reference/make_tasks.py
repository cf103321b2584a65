"""tasks.json of some folders: texts and what the pipelines give for them."""

from reference import heads
from reference.cases import TAGS, WORD_PIECE, Case, config, labelled
from reference.families import FAMILIES
from reference.files import write_json
from reference.tasks import answered, classified, filled, tagged

TEXTS = ["The cat sat on a mat.", "She lives in Paris, a big old city; who runs it?", "xylophone 42!", ""]
# Words of several pieces, for which the strategies give different tags.
TAGGED = TEXTS + ["itself paris river the anna bigger", "andes andes river the Bob bigger itself Bob!",
                  "matter catty river itself Riverside", "bigger tof andes river mats runner matter!"]
PAIRS = [("what is a cat", "The cat sat on a mat."), ("who lives in paris", "She runs the city."),
         ("river", ""), ("where is the old river and who sat in it all the time", "paris " * 60)]
QUESTIONS = [("where is the cat", "The cat sat on a mat."),
             ("who lives in the city", "It is old. The river runs in Paris, and many people sat where the big "
              "cat was; she lives on a mat of the river in a city that he and the people of Paris run to."),
             ("what", "Paris")]
BLANKS = [("the cat sat on a", "."), ("", "lives in paris"), ("how many people live in", "?")]
MOST_TOKENS = 40
STRATEGIES = ("none", "simple", "first", "average", "max")

# One logit, and so a sigmoid.
RERANKER = Case("reranker", labelled(config("BertForSequenceClassification", "bert", WORD_PIECE,
                                            hidden_size=8, num_attention_heads=2, num_hidden_layers=1,
                                            intermediate_size=12), "LABEL_0"),
                {"sequence": heads.BERT["sequence"], "pooled": heads.BERT_POOLER}, WORD_PIECE,
                prefix="bert.", lengths=(5, 9))


def runner(case, w):
    """model(head, text) -> what that head gives, float64."""
    w = {name: value.double() for name, value in w.items()}

    def model(head, text):
        hidden = FAMILIES[case.config["model_type"]][0](w, case.config, *text.tensors())
        return case.heads[head][1](w, case.config, hidden)
    return model


def classified_pair(model, names, problem, pair):
    return classified(model, names, problem, *pair, most=MOST_TOKENS)


def classify(model, names):
    problems = ("single_label_classification", "multi_label_classification", "regression")
    return {problem: [classified(model, names, problem, text) for text in TEXTS] for problem in problems}


def make_bert(path, case, w):
    model = runner(case, w)
    write_json(path / "tasks.json", {
        "texts": TEXTS, "classes": classify(model, TAGS),
        "pairs": [{"texts": pair, "classes": classified_pair(model, TAGS, None, pair)}
                  for pair in PAIRS],
        "tags": [{"text": text, **{strategy: tagged(model, TAGS, strategy, text)
                                   for strategy in STRATEGIES}} for text in TAGGED],
        "answers": [{"question": question, "context": context, "impossible": impossible,
                     "answer": answered(model, question, context, MOST_TOKENS, impossible)}
                    for question, context in QUESTIONS for impossible in (False, True)],
        "blanks": [{"text": f"{before} [MASK] {after}", "fills": filled(model, before, after, 5)}
                   for before, after in BLANKS],
    })


def make_reranker(path, case, w):
    model = runner(case, w)
    write_json(path / "tasks.json", {
        "pairs": [{"texts": pair,
                   "score": classified_pair(model, ["LABEL_0"], None, pair)["LABEL_0"],
                   "logit": classified_pair(model, ["LABEL_0"], "regression", pair)["LABEL_0"]}
                  for pair in PAIRS]})


TASKS = {"bert": make_bert, "reranker": make_reranker}
