# catalog: begin
from mercer.kernels.columnwise import Anova as Anova
from mercer.kernels.columnwise import BSpline as BSpline
from mercer.kernels.columnwise import ChiSquared as ChiSquared
from mercer.kernels.columnwise import Delta as Delta
from mercer.kernels.columnwise import Hamming as Hamming
from mercer.kernels.columnwise import Intersection as Intersection
from mercer.kernels.columnwise import Periodic as Periodic
from mercer.kernels.densities import ConditionalExpectation as ConditionalExpectation
from mercer.kernels.densities import Fisher as Fisher
from mercer.kernels.dots import ArcCosine as ArcCosine
from mercer.kernels.dots import Bilinear as Bilinear
from mercer.kernels.dots import Constant as Constant
from mercer.kernels.dots import Cosine as Cosine
from mercer.kernels.dots import Linear as Linear
from mercer.kernels.dots import Polynomial as Polynomial
from mercer.kernels.dots import Sigmoid as Sigmoid
from mercer.kernels.dots import Tanimoto as Tanimoto
from mercer.kernels.graphs.counting import ShortestPath as ShortestPath
from mercer.kernels.graphs.counting import WeisfeilerLehman as WeisfeilerLehman
from mercer.kernels.graphs.walks import RandomWalk as RandomWalk
from mercer.kernels.images.invariance import Jittered as Jittered
from mercer.kernels.images.invariance import RotationInvariant as RotationInvariant
from mercer.kernels.images.tangent import TangentDistance as TangentDistance
from mercer.kernels.opaque import FromFeatures as FromFeatures
from mercer.kernels.opaque import Precomputed as Precomputed
from mercer.kernels.opaque import Similarity as Similarity
from mercer.kernels.radial.compact import Epanechnikov as Epanechnikov
from mercer.kernels.radial.compact import Tricube as Tricube
from mercer.kernels.radial.compact import Uniform as Uniform
from mercer.kernels.radial.compact import Wendland as Wendland
from mercer.kernels.radial.smooth import Gaussian as Gaussian
from mercer.kernels.radial.smooth import Laplacian as Laplacian
from mercer.kernels.radial.smooth import Matern as Matern
from mercer.kernels.radial.smooth import NegativeSquaredDistance as NegativeSquaredDistance
from mercer.kernels.radial.smooth import PowerExponential as PowerExponential
from mercer.kernels.radial.smooth import RationalQuadratic as RationalQuadratic
from mercer.kernels.radial.smooth import SquaredDistance as SquaredDistance
from mercer.kernels.strings.alignments import LocalAlignment as LocalAlignment
from mercer.kernels.strings.alignments import Subsequence as Subsequence
from mercer.kernels.strings.alignments import WeightedDegree as WeightedDegree
from mercer.kernels.strings.grams import BagOfWords as BagOfWords
from mercer.kernels.strings.grams import Mismatch as Mismatch
from mercer.kernels.strings.grams import Spectrum as Spectrum

__all__ = [
    "Anova",
    "ArcCosine",
    "BSpline",
    "BagOfWords",
    "Bilinear",
    "ChiSquared",
    "ConditionalExpectation",
    "Constant",
    "Cosine",
    "Delta",
    "Epanechnikov",
    "Fisher",
    "FromFeatures",
    "Gaussian",
    "Hamming",
    "Intersection",
    "Jittered",
    "Laplacian",
    "Linear",
    "LocalAlignment",
    "Matern",
    "Mismatch",
    "NegativeSquaredDistance",
    "Periodic",
    "Polynomial",
    "PowerExponential",
    "Precomputed",
    "RandomWalk",
    "RationalQuadratic",
    "RotationInvariant",
    "ShortestPath",
    "Sigmoid",
    "Similarity",
    "Spectrum",
    "SquaredDistance",
    "Subsequence",
    "TangentDistance",
    "Tanimoto",
    "Tricube",
    "Uniform",
    "WeightedDegree",
    "WeisfeilerLehman",
    "Wendland",
]
# catalog: end
