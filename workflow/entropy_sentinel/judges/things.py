"""Words after a number that only say what is counted: `5 apples`, `5 red marbles left`, what the question asks for.

The list is closed on purpose. `5 or more`, `5 squared`, `5 halves` are words after a number, too, and another answer;
no rule of grammar tells them from `5 apples`. What is not on the list makes the label null.
"""

import re
from functools import lru_cache

_THINGS = frozenset(
    """
    people persons men women children kids boys girls adults students pupils teachers friends guests members players
    passengers customers workers employees soldiers athletes fans visitors residents citizens voters families
    couples babies neighbors teams classes groups animals cats dogs birds fish chickens hens cows horses sheep goats
    pigs ducks rabbits frogs bees ants spiders snakes turtles elephants lions monkeys puppies kittens chicks insects
    bugs eggs apples oranges bananas lemons pears peaches plums cherries grapes berries strawberries blueberries
    watermelons mangoes pineapples tomatoes potatoes carrots onions peppers cucumbers pumpkins vegetables fruits
    nuts seeds beans cookies cakes cupcakes muffins brownies pies pizzas pancakes doughnuts donuts sandwiches
    burgers hotdogs tacos candies sweets chocolates lollipops treats snacks crackers chips marshmallows jellybeans
    loaves slices pieces servings portions meals dishes desserts drinks sodas bottles cans cups glasses mugs plates
    bowls jars jugs pots pans spoons forks knives napkins spoonfuls scoops bags boxes cartons crates baskets packs
    packets packages containers bundles trays rolls sheets stacks bunches pens pencils crayons markers erasers books
    notebooks pages chapters paragraphs sentences words letters characters syllables lines poems stories articles
    papers magazines newspapers stickers stamps cards envelopes photos pictures paintings posters movies songs
    episodes videos albums messages emails calls texts tickets coins pennies nickels dimes bills marbles beads balls
    blocks bricks tiles stones rocks shells seashells buttons toys dolls balloons games puzzles flags ribbons
    candles bulbs lamps lights flowers roses tulips lilies daisies trees plants bushes leaves petals branches sticks
    logs boards planks nails screws bolts tools machines cars trucks buses vans trains planes boats ships bikes
    bicycles motorcycles vehicles wheels tires seats rooms classrooms houses homes buildings apartments floors doors
    windows chairs tables desks beds shelves bookshelves stairs shirts hats caps shoes socks dresses skirts coats
    jackets scarves gloves clothes outfits bracelets necklaces rings earrings medals trophies prizes gifts presents
    awards cities towns countries states schools stores shops restaurants hospitals farms gardens fields parks lakes
    rivers islands roads streets routes planets stars points goals runs wins losses matches rounds laps trips rides
    visits flights steps jumps votes orders items things objects products units parts sections rows columns levels
    layers stages tasks chores problems questions answers tests exams lessons sessions courses subjects projects
    jobs shifts meetings parties events tokens files pixels users followers views likes downloads devices computers
    phones laptops robots tablets pills doses ways methods arrangements permutations combinations choices
    possibilities outcomes selections orderings assignments colorings tilings configurations solutions roots zeros
    values numbers integers digits primes divisors factors multiples terms elements subsets functions sequences
    polynomials equations edges vertices faces sides diagonals angles corners triangles squares rectangles circles
    polygons pentagons hexagons cubes segments rays paths walks cycles regions intersections matchings committees
    handshakes atoms molecules electrons protons neutrons photons ions particles cells genes bacteria nuclei neurons
    person man woman child kid boy girl student friend player apple orange egg cookie book page ticket car tree way
    solution value point unit piece game marble coin
    """.split()  # noqa: SIM905  (a list of words is read as one)
)
_KINDS = frozenset(
    """
    red blue green yellow white black brown pink purple orange gray grey golden silver big small large little tall short
    long new old young fresh empty full whole different distinct unique possible such positive negative real integer
    integral prime even odd nonzero rational extra additional remaining total square cubic unit
    """.split()  # noqa: SIM905
)
# What may follow the thing, or stand alone: `5 apples left`, `5 in total`.
_ENDS = re.compile(r"\s+(?:left(?: over)?|remaining|in total|in all|total|altogether|overall)$")
_PER = re.compile(r"\s+(?:per|a|an|every)\s+(?:person|day|week|month|year|hour|minute|second|student|child|item|unit)$")
_ASKED = re.compile(r"\b(?:how (?:many|much)|(?:number|amount) of)\s+((?:[\w'-]+\s*){1,4})", re.IGNORECASE)
# Of what a question asks, words of its own sentence.
_OF_SENTENCES = frozenset(
    """
    is are was were do does did will would can could or and not no of to than the it there
    """.split()  # noqa: SIM905
)


def harmless(words: str, question: str = "") -> bool:
    """Whether `words` after a number, in any case, only name what is counted, so that they change nothing."""
    text = _PER.sub("", " " + " ".join(words.casefold().strip(" .,;:!()").split()))
    left = _ENDS.sub("", text).split()
    if not left:
        return bool(words.strip())
    named = counted(question)
    return (left[-1] in _THINGS or left[-1] in named) and all(
        word in _KINDS or word in _THINGS or word in named for word in left
    )


@lru_cache(maxsize=1024)
def counted(question: str) -> frozenset[str]:
    """The words, in lower case, after `how many`, `how much` and `number of` in a question."""
    found = (word for part in _ASKED.findall(question) for word in re.findall(r"[a-z'-]+", part.casefold()))
    return frozenset(found) - _OF_SENTENCES
