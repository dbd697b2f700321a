/* A program whose symbols debug_file_test.cpp finds in a file of their own. */
unsigned long beamdump_debug_link_marker = 0x9abc;

int main(void) {
    return beamdump_debug_link_marker == 0;
}
